// The preset `loading`: what lookups of absent keys read where filters and
// indexes are in the block cache, which holds only a part of them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "db_bench_ext/common/program.h"
#include "db_bench_ext/demo/database.h"

namespace deltabloom::demo {

// A block cache, by the bytes of the filters and of the indexes.
struct LoadingCache {
  const char* name;
  double share;  // of these bytes
  // cache_index_and_filter_blocks. Without it full filters and their indexes
  // are in memory beside the cache, from DB::Open on; of partitioned ones only
  // the top levels are.
  bool filters_in_cache;
};

inline constexpr std::array<LoadingCache, 4> kLoadingCaches = {{
    {"a quarter", 0.25, true},
    {"half", 0.5, true},
    {"all", 1, true},
    {"a quarter, cache_index_and_filter_blocks=false", 0.25, false},
}};

// The reads with one filter and one cache. Bytes and blocks are those that
// RocksDB read from files.
struct LoadingResult {
  std::string filter;  // "none", "deltabloom", "fitted"
  LoadingCache cache;
  size_t cache_bytes = 0;
  double bits_per_key = 0;
  uint64_t filter_bytes = 0;  // of all filters
  // Read from DB::Open until the counting began.
  uint64_t filters_opened = 0;
  // Filters that the cache dropped from DB::Open until the counting ended. Each
  // is read again when a lookup needs it.
  uint64_t filters_dropped_by_cache = 0;
  uint64_t lookups = 0;            // of absent keys
  uint64_t bytes = 0;              // of all blocks
  uint64_t filters_loaded = 0;     // partitions where filters have them
  uint64_t filter_bytes_read = 0;  // of these
  uint64_t blocks = 0;
  uint64_t data_blocks = 0;
  uint64_t missed_present_keys = 0;
};

// The number of databases that MeasureLoading builds.
inline constexpr size_t kLoadingDatabases = 4;

// Builds databases without filters, with those of bits_per_key, and with those
// that fit the part of them that each cache holds (FitRocksDBFilters), in
// folders that `folder_of` names.
// Each looks up `lookups` absent keys, which fill the cache, and then as many
// that are counted. Takes two steps of progress for each key of a database.
// Throws std::runtime_error.
std::vector<LoadingResult> MeasureLoading(
    const TreePlan& plan, const KeySet& keys, const DatabaseOptions& options,
    double bits_per_key, uint64_t lookups,
    const std::function<std::string(const std::string& name)>& folder_of,
    bench::ProgressBar* progress);

}  // namespace deltabloom::demo
