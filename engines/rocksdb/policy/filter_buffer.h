// The memory of one filter, sized as RocksDB's optimize_filters_for_memory
// asks.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_POLICY_FILTER_BUFFER_H_
#define DELTABLOOM_ENGINES_ROCKSDB_POLICY_FILTER_BUFFER_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "util/layouts/layout.h"

namespace deltabloom::internal {

struct FilterBuffer {
  Plan plan;
  std::unique_ptr<char[]> bytes;  // zeroed, with room for framing_size bytes
  // To be added to the balance once the filter is built.
  int64_t balance_change = 0;
};

// A buffer of the size that the layout plans for the keys. With a balance, a
// somewhat smaller or larger one that fills what the allocator would hand out
// anyway: smaller ones while the balance allows it, so that over many filters
// the false positives stay those of the planned sizes. The balance is the sum
// over all filters of (rate of the size taken - rate of the size planned), in
// units of 2^-32; it may be shared by many threads.
//
// Room that an allocator has is used for filters of up to max_filter_bytes,
// framing included.
//
// Throws std::bad_alloc.
FilterBuffer AllocateFilter(const LayoutRow& layout, uint64_t keys,
                            uint32_t millibits_per_key, uint64_t framing_size,
                            uint64_t max_filter_bytes,
                            const std::atomic<int64_t>* balance);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_POLICY_FILTER_BUFFER_H_
