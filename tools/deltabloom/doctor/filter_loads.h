// Predicts what a lookup of an absent key loads if filters are in a block cache
// that does not hold all of them, beside the reads that they save it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "tools/deltabloom/database/database.h"

namespace deltabloom::tools {

struct FilterLoads {
  double filters = 0;          // loaded per lookup; partitions, where there are
  double bytes = 0;            // of these
  double partition_bytes = 0;  // the same, were they partitions
  double blocks_saved = 0;     // data blocks that are not read
  double bytes_saved = 0;      // of these
};

// The filters of one column family that are in the block cache.
class CachedFilters {
 public:
  void Add(const DatabaseTable& table);

  uint64_t filter_bytes() const { return filter_bytes_; }
  uint64_t index_bytes() const { return index_bytes_; }  // of the same tables
  uint64_t keys() const { return keys_; }
  bool all_partitioned() const { return all_partitioned_; }

  // If lookups are spread over all keys, and the cache holds `capacity` bytes
  // of these filters and nothing else: a lookup asks one filter of each run.
  // Then those are kept that are asked most often: tables of level 0, then
  // levels from above, each of which has more tables than the one before; of
  // the level that does not fit a part, of those below none. Real caches hold
  // other blocks as well, so lookups load more.
  FilterLoads Loads(double capacity, double partition_bytes) const;

 private:
  struct Run {
    double filter_bytes = 0;
    double filters = 0;  // or partitions
    double data_bytes = 0;
    double data_blocks = 0;
    double keys = 0;
    double rejected = 0;  // of as many absent keys
  };

  std::map<std::pair<int, size_t>, Run> runs_;  // from the top
  uint64_t filter_bytes_ = 0;
  uint64_t index_bytes_ = 0;
  uint64_t keys_ = 0;
  bool all_partitioned_ = true;
};

// One column family, and its block cache.
struct FamilyCache {
  CachedFilters filters;
  // The capacity of the whole cache; nothing if it is not known.
  std::optional<uint64_t> capacity;
  // True if the cache has filters of other column families, too. Each family
  // then has a part of it, by the size of its filters.
  bool is_shared = false;
  double share = 0;
  FilterLoads loads;
};

// Finds the loads of each column family that has filters in the block cache.
// Reads the LOG, if there are any. *problem says why that failed, in a line.
std::map<std::string, FamilyCache> FindFilterLoads(const Database& database,
                                                   std::string* problem);

}  // namespace deltabloom::tools
