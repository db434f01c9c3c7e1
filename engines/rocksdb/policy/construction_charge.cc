#include "engines/rocksdb/policy/construction_charge.h"

#include <exception>
#include <type_traits>
#include <utility>

namespace deltabloom::internal {
namespace {

// The overload that compiles with the options of these headers is used.

template <typename Options>
auto Charges(const Options& options, int)
    -> decltype(options.cache_usage_options, bool()) {
  const auto& usage = options.cache_usage_options;
  using Role =
      typename std::decay_t<decltype(usage.options_overrides)>::key_type;
  using Decision = std::decay_t<decltype(usage.options.charged)>;
  const auto of_role = usage.options_overrides.find(Role::kFilterConstruction);
  Decision charged = Decision::kFallback;
  if (of_role != usage.options_overrides.end()) {
    charged = of_role->second.charged;
  }
  if (charged == Decision::kFallback) charged = usage.options.charged;
  return charged == Decision::kEnabled;
}

template <typename Options>
auto Charges(const Options& options, ...)
    -> decltype(options.reserve_table_builder_memory, bool()) {
  return options.reserve_table_builder_memory;
}

}  // namespace

ConstructionCharge::ConstructionCharge(std::shared_ptr<rocksdb::Cache> cache) {
  if (cache == nullptr) return;
  manager_ = std::make_unique<rocksdb::WriteBufferManager>(0, std::move(cache));
}

void ConstructionCharge::Set(uint64_t bytes) {
  if (manager_ == nullptr || bytes == charged_) return;
  try {
    if (bytes > charged_) {
      manager_->ReserveMem(bytes - charged_);
    } else {
      manager_->FreeMem(charged_ - bytes);
    }
    charged_ = bytes;
  } catch (const std::exception&) {
    // Memory has run out within RocksDB. What it counted is not known.
    manager_.reset();
  }
}

std::shared_ptr<rocksdb::Cache> CacheToCharge(
    const rocksdb::BlockBasedTableOptions& options) {
  return Charges(options, 0) ? options.block_cache : nullptr;
}

}  // namespace deltabloom::internal
