#include "engines/rocksdb/plugin/policy_module.h"

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>

#include "engines/rocksdb/base/process.h"
#include "engines/rocksdb/plugin/statistics_file.h"
#include "engines/rocksdb/policy/private_abi.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/table.h"

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

double BitsPerKeyOf(const rocksdb::FilterPolicy& policy) {
  const rocksdb::BlockBasedTableOptions table;
  rocksdb::FilterBuildingContext context(table);
  context.num_levels = 7;
  context.level_at_creation = 6;
  context.is_bottommost = true;
  context.reason = rocksdb::TableFileCreationReason::kCompaction;
  const std::unique_ptr<rocksdb::FilterBitsBuilder> builder(
      policy.GetBuilderWithContext(context));
  if (builder == nullptr) return 0;
  // So large that one key more or less is below the thousandth to which
  // RocksDB rounds its own bits; they are at most 100.
  constexpr size_t kBytes = size_t{16} << 20;
  const auto keys = static_cast<double>(builder->ApproximateNumEntries(kBytes));
  return std::round(8000.0 * kBytes / keys) / 1000;
}

}  // namespace deltabloom::internal
