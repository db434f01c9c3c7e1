// Charges the memory of building filters to RocksDB's block cache, if its
// options say so.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_POLICY_CONSTRUCTION_CHARGE_H_
#define DELTABLOOM_ENGINES_ROCKSDB_POLICY_CONSTRUCTION_CHARGE_H_

#include <cstdint>
#include <memory>

#include "rocksdb/table.h"
#include "rocksdb/write_buffer_manager.h"

namespace deltabloom::internal {

// Only RocksDB's own filters can make cache entries of the role that it has for
// this. A WriteBufferManager without a buffer makes entries as well, and is
// public and the same in all versions; the memory then counts as kWriteBuffer.
// If a cache with a strict limit is full, it is not charged, and building
// continues. Entries have 256 KiB each, so up to that much more is charged.
//
// For one thread at a time. Nothing throws.
class ConstructionCharge {
 public:
  // With null it charges nothing.
  explicit ConstructionCharge(std::shared_ptr<rocksdb::Cache> cache);
  // Releases the charge.
  ~ConstructionCharge() = default;

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

#endif  // DELTABLOOM_ENGINES_ROCKSDB_POLICY_CONSTRUCTION_CHARGE_H_
