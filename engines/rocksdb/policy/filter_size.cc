#include "engines/rocksdb/policy/filter_size.h"

#include <malloc.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "engines/rocksdb/policy/options.h"
#include "util/rates/layout_rates.h"

namespace deltabloom::internal {
namespace {

// With fewer bits a filter lets two in five absent keys or more through.
constexpr uint32_t kLeastLoweredMillibits = 2000;

// The most bits up to `most` with which the payload has at most payload_limit
// bytes; 0 if so few bits are of no use.
uint32_t MillibitsWithin(uint64_t payload_limit, const LayoutRow& layout,
                         uint64_t keys, uint32_t most) {
  const auto fits = [&](uint32_t millibits) {
    return PlanFilter(&layout, keys, millibits).payload_size <= payload_limit;
  };
  uint32_t low = std::min(kLeastLoweredMillibits, most);
  if (!fits(low)) return 0;
  uint32_t high = most + 1;
  while (high - low > 1) {
    const uint32_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

// What RocksDB keeps after a filter in its block cache.
constexpr uint64_t kBlockTrailerSize = 5;

constexpr double kBalanceUnit = 4294967296.0;  // 2^32

// The bytes that the allocator provides for `size`, found by allocating. The
// buffer itself is then allocated with its final size, so that nothing writes
// beyond the size that was requested.
uint64_t UsableSize(uint64_t size) {
  const std::unique_ptr<char[]> probe(new char[size]);
  return malloc_usable_size(probe.get());
}

// Of these the overload that compiles with the options of the headers is used.
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

FilterBits BitsFor(const FilterSizeOptions& options, const LayoutRow& layout,
                   uint64_t keys, uint64_t framing_size) {
  FilterBits bits{options.millibits_per_key, false, false};
  if (options.false_positive_rate != 0) {
    const MillibitsAndRate found =
        MillibitsForRate(&layout, keys, options.false_positive_rate);
    bits.millibits_per_key = std::max(found.millibits, kMinMillibitsPerKey);
    bits.rate_missed = found.rate > options.false_positive_rate;
  }
  if (options.max_filter_bytes == kUnlimited) return bits;
  const uint64_t payload_limit =
      options.max_filter_bytes -
      std::min(options.max_filter_bytes, framing_size);
  const uint32_t within =
      MillibitsWithin(payload_limit, layout, keys, bits.millibits_per_key);
  bits.lowered = within < bits.millibits_per_key;
  bits.millibits_per_key = within;
  return bits;
}

FilterBuffer AllocateFilter(const LayoutRow& layout, uint64_t keys,
                            uint32_t millibits_per_key, uint64_t framing_size,
                            uint64_t max_filter_bytes,
                            const std::atomic<int64_t>* balance) {
  const uint64_t overhead = framing_size + kBlockTrailerSize;
  FilterBuffer buffer;
  buffer.plan = PlanFilter(&layout, keys, millibits_per_key);
  if (balance != nullptr) {
    const double planned_rate = PlanRate(buffer.plan);
    const double allowed_rate =
        planned_rate - static_cast<double>(balance->load()) / kBalanceUnit;
    // Smaller by up to a quarter, as in RocksDB.
    for (uint64_t sixteenths = 12; sixteenths < 16; ++sixteenths) {
      const Plan smaller = PlanFilter(
          &layout, keys,
          static_cast<uint32_t>(millibits_per_key * sixteenths / 16));
      if (PlanRate(smaller) <= allowed_rate) {
        buffer.plan = smaller;
        break;
      }
    }
    const uint64_t wanted = buffer.plan.payload_size + overhead;
    const uint64_t usable = UsableSize(wanted);
    // More than a third above would buy little accuracy for its bytes on disk.
    if (usable > wanted && usable - usable / 4 <= wanted) {
      buffer.plan.layout->grow(
          &buffer.plan,
          std::min(usable - overhead, max_filter_bytes - framing_size));
    }
    buffer.balance_change = static_cast<int64_t>(
        (PlanRate(buffer.plan) - planned_rate) * kBalanceUnit);
  }
  buffer.bytes.reset(new char[buffer.plan.payload_size + framing_size]());
  return buffer;
}

ConstructionCharge::ConstructionCharge(std::shared_ptr<rocksdb::Cache> cache) {
  if (cache == nullptr) return;
  manager_ = std::make_unique<rocksdb::WriteBufferManager>(0, std::move(cache));
}

void ConstructionCharge::Set(uint64_t bytes) {
  if (manager_ == nullptr || bytes == charged_) return;
  const bool done = WithoutThrowing([&] {
    if (bytes > charged_) {
      manager_->ReserveMem(bytes - charged_);
    } else {
      manager_->FreeMem(charged_ - bytes);
    }
    charged_ = bytes;
  });
  // Without memory it is not known what RocksDB counted.
  if (!done) manager_.reset();
}

std::shared_ptr<rocksdb::Cache> CacheToCharge(
    const rocksdb::BlockBasedTableOptions& options) {
  return Charges(options, 0) ? options.block_cache : nullptr;
}

}  // namespace deltabloom::internal
