// The memory of building filters, charged to RocksDB's block cache where its
// options ask for that.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_POLICY_CONSTRUCTION_CHARGE_H_
#define DELTABLOOM_ENGINES_ROCKSDB_POLICY_CONSTRUCTION_CHARGE_H_

#include <cstdint>
#include <memory>

#include "rocksdb/table.h"
#include "rocksdb/write_buffer_manager.h"

namespace deltabloom::internal {

// Cache entries of the role that RocksDB has for this can be made by its own
// filters only. A WriteBufferManager without a buffer makes such entries, too,
// is public and the same in all versions; the memory then counts as
// kWriteBuffer. If a cache with a strict limit has no room, it is not charged,
// and building goes on. Entries have 256 KiB each, so up to so much more is
// charged.
//
// By one thread at a time. Nothing throws.
class ConstructionCharge {
 public:
  // Null: charges nothing.
  explicit ConstructionCharge(std::shared_ptr<ROCKSDB_NAMESPACE::Cache> cache);
  // Gives everything back.
  ~ConstructionCharge() = default;

  bool on() const { return manager_ != nullptr; }

  // From now on `bytes` are held. Without memory for the charge, it stays.
  void Set(uint64_t bytes);

 private:
  std::unique_ptr<ROCKSDB_NAMESPACE::WriteBufferManager> manager_;
  uint64_t charged_ = 0;
};

// The cache to which RocksDB would charge the building of its own filters:
// cache_usage_options for kFilterConstruction, in 7.0 and 7.1
// reserve_table_builder_memory. Null if it would not.
std::shared_ptr<ROCKSDB_NAMESPACE::Cache> CacheToCharge(
    const ROCKSDB_NAMESPACE::BlockBasedTableOptions& options);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_POLICY_CONSTRUCTION_CHARGE_H_
