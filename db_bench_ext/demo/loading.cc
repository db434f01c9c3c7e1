#include "db_bench_ext/demo/loading.h"

#include <rocksdb/perf_context.h>
#include <rocksdb/perf_level.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "db_bench_ext/common/program.h"
#include "db_bench_ext/demo/contenders.h"
#include "db_bench_ext/demo/database.h"
#include "db_bench_ext/demo/tree.h"
#include "deltabloom/rocksdb.h"
#include "deltabloom/rocksdb_statistics.h"

namespace deltabloom::demo {
namespace {

// Room in every cache besides filters and indexes: a lookup holds its index
// while it reads a data block, of 4 KiB, which must not push out a filter.
constexpr size_t kRoomBytes = 16 << 10;

// The bits_per_key with which all filters of the tree have filter_bytes.
double BitsThatFit(const Database& database, uint64_t filter_bytes) {
  RocksDBFilterOptions options;
  std::string error;
  if (!FitRocksDBFilters(database.db(), {database.db()->DefaultColumnFamily()},
                         filter_bytes, &options, &error)) {
    throw std::runtime_error(error);
  }
  return options.bits_per_key;
}

// The filters that were loaded through a policy since it was made.
RocksDBFilterRow Loaded(const rocksdb::FilterPolicy* policy) {
  RocksDBFilterStatistics statistics;
  if (policy != nullptr) GetRocksDBFilterStatistics(*policy, &statistics);
  return statistics.Total();
}

// Looks up n keys of one kind, a batch at a time.
Counts LookUpMany(const Database& database, Lookup lookup, uint64_t n,
                  LookupKeys* keys) {
  constexpr uint64_t kBatch = 1000;
  Counts counts;
  while (counts.lookups < n) {
    const uint64_t rest = n - counts.lookups;
    LookUp(database, keys->Draw(lookup, std::min(kBatch, rest)), &counts);
  }
  return counts;
}

// Looks up `lookups` absent keys, the same ones for every database and cache of
// a tree.
LoadingResult Count(const KeySet& keys, const LoadingCache& cache,
                    size_t cache_bytes, uint64_t lookups, Database* database) {
  LoadingResult result;
  result.filter = database->name();
  result.cache = cache;
  result.cache_bytes = cache_bytes;
  result.bits_per_key = database->tree().BitsPerKey();
  result.filter_bytes = database->tree().Sum(&Table::filter_bytes);

  const RocksDBFilterRow closed = Loaded(database->filters());
  database->Reopen(cache_bytes, cache.filters_in_cache);
  LookupKeys lookup_keys(keys, *database);
  LookUpMany(*database, Lookup::kAbsent, lookups, &lookup_keys);
  const RocksDBFilterRow warm = Loaded(database->filters());
  result.filters_opened = warm.filters_loaded - closed.filters_loaded;

  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);
  rocksdb::PerfContext* const perf = rocksdb::get_perf_context();
  perf->Reset();
  const Counts counts =
      LookUpMany(*database, Lookup::kAbsent, lookups, &lookup_keys);
  result.lookups = counts.lookups;
  result.bytes = perf->block_read_byte;
  result.blocks = perf->block_read_count;
  result.data_blocks = counts.data_block_reads;
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
  const RocksDBFilterRow done = Loaded(database->filters());
  result.filters_loaded = done.filters_loaded - warm.filters_loaded;
  result.filter_bytes_read = done.bytes_loaded - warm.bytes_loaded;
  result.filters_dropped_by_cache =
      done.filters_loaded - closed.filters_loaded - done.filters_open;

  const Counts present =
      LookUpMany(*database, Lookup::kPresent, lookups / 10, &lookup_keys);
  result.missed_present_keys = present.lookups - present.found;
  return result;
}

}  // namespace

std::vector<LoadingResult> MeasureLoading(
    const TreePlan& plan, const KeySet& keys, const DatabaseOptions& options,
    double bits_per_key, uint64_t lookups,
    const std::function<std::string(const std::string& name)>& folder_of,
    bench::ProgressBar* progress) {
  const auto build = [&](const char* name, Policy policy,
                         const std::string& folder) {
    progress->SetActivity("loading: " + folder);
    auto database = std::make_unique<Database>(
        name, std::move(policy), folder_of(folder), options,
        [&keys](uint64_t i) { return keys.Key(i); });
    database->Build(plan, progress);
    return database;
  };
  const auto none = build(kNoFilter, Policy(), kNoFilter);
  const auto full =
      build(kDefault, MakePolicy(kDefault, bits_per_key), kDefault);
  const auto filter_bytes =
      static_cast<double>(full->tree().Sum(&Table::filter_bytes));
  const auto index_bytes =
      static_cast<double>(full->tree().Sum(&Table::index_bytes));

  std::vector<LoadingResult> results;
  for (const LoadingCache& cache : kLoadingCaches) {
    const size_t cache_bytes =
        kRoomBytes +
        static_cast<size_t>(cache.share * (filter_bytes + index_bytes));
    std::vector<Database*> databases = {none.get(), full.get()};
    // Filters beside the cache have all the memory they need, and a cache that
    // has room for all has it for those of bits_per_key.
    std::unique_ptr<Database> fitted;
    if (cache.filters_in_cache && cache.share < 1) {
      const double bits =
          BitsThatFit(*full, static_cast<uint64_t>(cache.share * filter_bytes));
      fitted =
          build("fitted", MakePolicy(kDefault, bits),
                "fitted-" + std::to_string(std::lround(100 * cache.share)));
      databases.push_back(fitted.get());
    }
    progress->SetActivity(std::string("looking up, cache of ") + cache.name);
    for (Database* const database : databases) {
      results.push_back(Count(keys, cache, cache_bytes, lookups, database));
    }
    progress->Advance(static_cast<double>(plan.keys * kLoadingDatabases) /
                      kLoadingCaches.size());
  }
  return results;
}

}  // namespace deltabloom::demo
