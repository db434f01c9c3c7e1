// Verifies the filters of one table, by the engine that wrote it.
#pragma once

#include <functional>

#include "tools/deltabloom/verify/report.h"
#include "tools/sst/sst.h"

namespace deltabloom::tools {

// One filter of a table, in which the table's entries are to be looked up.
struct VerifyTask {
  const internal::SstSource& source;
  const internal::SstFile& file;
  const internal::SstFilter& filter;
  // Called now and then with the share of the table that is done. Returns false
  // to stop.
  const std::function<bool(double share)>& go_on;
  TableReport* report;
};

// Each throws std::runtime_error if the table cannot be checked to its end; the
// report then holds what was done before.

// Keys need not have sequence numbers, as those of a database have.
void VerifyLevelDB(const VerifyTask& task);

// Reads the filter through its policy's reader. Only in builds with RocksDB.
void VerifyRocksDB(const VerifyTask& task);

// Asks the table's range filter, if it has one (rocksdb_ranges.h), for ranges
// that hold its keys. Only in builds with RocksDB.
void VerifyRangeFilter(const internal::SstSource& source,
                       const internal::SstFile& file,
                       const std::function<bool(double share)>& go_on,
                       TableReport* report);

}  // namespace deltabloom::tools
