// The size of one filter: its bits per key once the number of keys is known,
// and its memory.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_POLICY_FILTER_SIZE_H_
#define DELTABLOOM_ENGINES_ROCKSDB_POLICY_FILTER_SIZE_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "util/layouts/layout.h"

namespace deltabloom::internal {

// As in RocksDBFilterOptions.
struct FilterSizeOptions {
  uint32_t millibits_per_key;
  double false_positive_rate;  // if not 0, instead of them
  uint64_t max_filter_bytes;
};

struct FilterBits {
  uint32_t millibits_per_key;  // 0: no filter
  bool lowered;                // to fit max_filter_bytes
  bool rate_missed;            // the layout has no rate as low as that
};

// For a filter of `keys` keys, 1 or more, with framing_size bytes around its
// payload.
FilterBits BitsFor(const FilterSizeOptions& options, const LayoutRow& layout,
                   uint64_t keys, uint64_t framing_size);

struct FilterBuffer {
  Plan plan;
  // Zeroed bytes for the payload and framing_size more.
  std::unique_ptr<char[]> bytes;
  // To be added to the balance once the filter is built.
  int64_t balance_change = 0;
};

// Allocates a buffer of the size that the layout plans for the keys. With a
// balance (RocksDB's optimize_filters_for_memory) the size is a little smaller
// or larger, so that it fills what the allocator hands out anyway: smaller
// while the balance allows it, so that over many filters the false positives
// are those of the planned sizes. The balance is the sum over all filters of
// (rate of the size taken - rate of the size planned), in units of 2^-32; many
// threads may share it.
//
// No filter gets more than max_filter_bytes, framing included, by that. Throws
// std::bad_alloc.
FilterBuffer AllocateFilter(const LayoutRow& layout, uint64_t keys,
                            uint32_t millibits_per_key, uint64_t framing_size,
                            uint64_t max_filter_bytes,
                            const std::atomic<int64_t>* balance);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_POLICY_FILTER_SIZE_H_
