#include "engines/rocksdb/plugin/policy_module.h"

#include <cstdio>
#include <string>

#include "engines/rocksdb/base/process.h"
#include "engines/rocksdb/plugin/statistics_file.h"

namespace deltabloom::internal {
namespace {

void Print(const std::string& line) {
  std::fprintf(stderr, "%s\n", line.c_str());
}

}  // namespace

void ServeEnvironment() noexcept {
  // db_bench, for one, runs on without a filter when its OPTIONS file names a
  // policy that cannot be made.
  TheProcess().error_reporter = Print;
  StartStatisticsFile();
}

}  // namespace deltabloom::internal
