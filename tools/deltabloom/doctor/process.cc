#include "tools/deltabloom/doctor/process.h"

#include <rocksdb/convenience.h>
#include <rocksdb/options.h>
#include <rocksdb/version.h>

#include <string>

#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/plugin/find_rocksdb.h"
#include "engines/rocksdb/policy/policy.h"

namespace deltabloom::tools {

void ReadRocksDB(ProcessReport* report) {
  report->built_for = internal::HeadersVersion();
  report->loaded = rocksdb::GetRocksVersionAsString(true);
  report->problem = internal::LibraryProblem();
  deltabloom_for_each_host(
      [](const deltabloom_host* host, void* argument) {
        static_cast<ProcessReport*>(argument)->libraries.emplace_back(
            *host->path == '\0' ? "this program" : host->path);
      },
      report);
}

bool ReadsCollectors(const std::string& collectors) {
  std::string ignored;
  rocksdb::ColumnFamilyOptions family;
  rocksdb::ConfigOptions config;
  config.ignore_unknown_options = true;
  return RegisterRocksDB(&ignored) &&
         rocksdb::GetColumnFamilyOptionsFromString(
             config, {}, "table_properties_collectors={" + collectors + "}",
             &family)
             .ok() &&
         !family.table_properties_collector_factories.empty();
}

}  // namespace deltabloom::tools
