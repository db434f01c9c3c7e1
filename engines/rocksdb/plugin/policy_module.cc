// Registers the policy when this shared object is loaded: by the preloaded
// plugin, before main.
#include <cstdio>
#include <string>

#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/plugin/statistics_file.h"
#include "engines/rocksdb/policy/policy.h"

namespace {

void Print(const std::string& line) {
  std::fprintf(stderr, "%s\n", line.c_str());
}

const bool registered = [] {
  std::string error;
  if (!deltabloom::RegisterRocksDB(&error)) {
    Print(error);
    return false;
  }
  // db_bench, for one, runs on without a filter when its OPTIONS file names a
  // policy that cannot be made.
  deltabloom::internal::SetErrorReporter(Print);
  deltabloom::internal::StartStatisticsFile();
  return true;
}();

}  // namespace
