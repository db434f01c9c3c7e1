// Registers the policy when this shared object is loaded, which the preloaded
// plugin does before main.
#include <cstdio>
#include <string>

#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/base/process.h"
#include "engines/rocksdb/plugin/statistics_file.h"

namespace deltabloom::internal {
namespace {

void Print(const std::string& line) {
  std::fprintf(stderr, "%s\n", line.c_str());
}

const bool registered = [] {
  std::string error;
  if (!RegisterRocksDB(&error)) {
    Print(error);
    return false;
  }
  // db_bench, for one, runs on without a filter when its OPTIONS file names a
  // policy that cannot be made.
  TheProcess().error_reporter = Print;
  StartStatisticsFile();
  return true;
}();

}  // namespace
}  // namespace deltabloom::internal
