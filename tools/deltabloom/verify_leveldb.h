// Tables of LevelDB: their keys and their filter block.
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_VERIFY_LEVELDB_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_VERIFY_LEVELDB_H_

#include <string>

#include "table/sst/sst.h"
#include "tools/deltabloom/verify_report.h"

namespace deltabloom::tools {

// As VerifyTable, for a table that was walked and one of its filters. The
// blocks are read as LevelDB defines them, and not through it: its Table tells
// of no key in which block it is, and wants the comparator of the database.
std::string VerifyLevelDB(const internal::SstSource& source,
                          const internal::SstFile& file,
                          const internal::SstFilter& filter,
                          VerifyListener* listener, TableReport* report);

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_VERIFY_LEVELDB_H_
