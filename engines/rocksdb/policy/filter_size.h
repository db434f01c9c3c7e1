// The size of one filter: its bits per key once the number of keys is known,
// its memory, and the charge of that to RocksDB's block cache.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_POLICY_FILTER_SIZE_H_
#define DELTABLOOM_ENGINES_ROCKSDB_POLICY_FILTER_SIZE_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "rocksdb/table.h"
#include "rocksdb/write_buffer_manager.h"
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

// Charges the memory of building filters to a block cache. Only RocksDB's own
// filters can make cache entries of the role that it has for this. A
// WriteBufferManager without a buffer makes entries as well, and is public and
// the same in all versions; the memory then counts as kWriteBuffer. If a cache
// with a strict limit is full, it is not charged, and building continues.
// Entries have 256 KiB each, so up to that much more is charged.
//
// For one thread at a time. Nothing throws. The destructor releases the charge.
class ConstructionCharge {
 public:
  // With null it charges nothing.
  explicit ConstructionCharge(std::shared_ptr<rocksdb::Cache> cache);

  bool on() const { return manager_ != nullptr; }

  // Sets the number of bytes that are held. Without memory for the change, the
  // charge stays as it is.
  void Set(uint64_t bytes);

 private:
  std::unique_ptr<rocksdb::WriteBufferManager> manager_;
  uint64_t charged_ = 0;
};

// The cache to which RocksDB would charge the building of its own filters:
// cache_usage_options for kFilterConstruction, in 7.0 and 7.1
// reserve_table_builder_memory. Null if there is none.
std::shared_ptr<rocksdb::Cache> CacheToCharge(
    const rocksdb::BlockBasedTableOptions& options);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_POLICY_FILTER_SIZE_H_
