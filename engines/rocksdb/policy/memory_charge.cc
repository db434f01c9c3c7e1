#include "engines/rocksdb/policy/memory_charge.h"

#include <cstdint>
#include <memory>

#include "engines/rocksdb/base/errors.h"
#include "engines/rocksdb/base/rocksdb_version.h"
#include "rocksdb/cache.h"
#include "rocksdb/table.h"
#include "rocksdb/write_buffer_manager.h"

namespace deltabloom::internal {

std::shared_ptr<rocksdb::Cache> CacheToCharge(
    const rocksdb::BlockBasedTableOptions& table) {
#if DELTABLOOM_ROCKSDB_HEADERS >= DELTABLOOM_ROCKSDB_VERSION(7, 3, 0)
  using Decision = rocksdb::CacheEntryRoleOptions::Decision;
  const auto& usage = table.cache_usage_options;
  Decision charged = usage.options.charged;
  const auto of_role = usage.options_overrides.find(
      rocksdb::CacheEntryRole::kFilterConstruction);
  if (of_role != usage.options_overrides.end() &&
      of_role->second.charged != Decision::kFallback) {
    charged = of_role->second.charged;
  }
  const bool charges = charged == Decision::kEnabled;
#else
  const bool charges = table.reserve_table_builder_memory;
#endif
  return charges ? table.block_cache : nullptr;
}

MemoryCharge::MemoryCharge(const std::shared_ptr<rocksdb::Cache>& cache) {
  if (cache == nullptr) return;
  manager_ = std::make_unique<rocksdb::WriteBufferManager>(0, cache);
}

void MemoryCharge::Set(uint64_t bytes) noexcept {
  const bool done = WithoutThrowing([&] {
    if (bytes > charged_) manager_->ReserveMem(bytes - charged_);
    if (bytes < charged_) manager_->FreeMem(charged_ - bytes);
    charged_ = bytes;
  });
  if (!done) manager_.reset();  // what RocksDB counted is not known
}

}  // namespace deltabloom::internal
