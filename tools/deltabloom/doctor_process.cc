// What a process that uses the policy has: this one, for example.
#include <string>

#include "engines/rocksdb/plugin/find_rocksdb.h"
#include "engines/rocksdb/policy/library_check.h"
#include "rocksdb/version.h"
#include "tools/deltabloom/doctor_report.h"
#include "util/cpu.h"

namespace deltabloom::tools {

ProcessReport LookAtProcess() {
  ProcessReport report;
  report.built_for = internal::HeadersVersion();
  report.loaded = ROCKSDB_NAMESPACE::GetRocksVersionAsString(true);
  report.cpu = internal::CpuLevelName(internal::LevelOf(internal::ActiveCpu()));
  report.problem = internal::LibraryProblem();
  internal::ForEachRocksDB(
      [](const internal::LoadedRocksDB& rocksdb, void* argument) {
        static_cast<ProcessReport*>(argument)->libraries.emplace_back(
            *rocksdb.path == '\0' ? "this program" : rocksdb.path);
      },
      &report);
  return report;
}

}  // namespace deltabloom::tools
