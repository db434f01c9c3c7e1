// Charges the memory that a builder holds to RocksDB's block cache.
#pragma once

#include <cstdint>
#include <memory>

#include "rocksdb/cache.h"
#include "rocksdb/table.h"
#include "rocksdb/write_buffer_manager.h"

namespace deltabloom::internal {

// Returns the cache to which RocksDB would charge the building of its own
// filters, or null.
std::shared_ptr<rocksdb::Cache> CacheToCharge(
    const rocksdb::BlockBasedTableOptions& table);

// Charges bytes as kWriteBuffer, in entries of 256 KiB; a full cache with a
// strict limit is not charged. Gives them back when it is destroyed.
class MemoryCharge {
 public:
  // `cache` may be null: nothing is charged.
  explicit MemoryCharge(const std::shared_ptr<rocksdb::Cache>& cache);

  bool IsOn() const { return manager_ != nullptr; }
  // Charges `bytes` in all. Without memory for the change, nothing is charged
  // from then on. REQUIRES: IsOn().
  void Set(uint64_t bytes) noexcept;

 private:
  std::unique_ptr<rocksdb::WriteBufferManager> manager_;
  uint64_t charged_ = 0;
};

}  // namespace deltabloom::internal
