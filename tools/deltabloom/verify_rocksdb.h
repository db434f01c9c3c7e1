// Tables of RocksDB: their keys and their full or partitioned filters.
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_VERIFY_ROCKSDB_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_VERIFY_ROCKSDB_H_

#include <string>

#include "table/sst/sst.h"
#include "tools/deltabloom/verify_report.h"

namespace deltabloom::tools {

// As VerifyTable, for a table that was walked and one of its filters. Reads the
// entries through RocksDB and asks the filter through the policy's own reader.
// In a build without RocksDB: says so.
std::string VerifyRocksDB(const internal::SstSource& source,
                          const internal::SstFile& file,
                          const internal::SstFilter& filter,
                          VerifyListener* listener, TableReport* report);

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_VERIFY_ROCKSDB_H_
