#include "engines/rocksdb/policy/filter_buffer.h"

#include <malloc.h>

#include <algorithm>

#include "util/rates/layout_rates.h"

namespace deltabloom::internal {
namespace {

// What RocksDB keeps behind a filter in its block cache.
constexpr uint64_t kBlockTrailerSize = 5;

constexpr double kBalanceUnit = 4294967296.0;  // 2^32

// Bytes that the allocator hands out for `size`. Asked by allocating: the
// buffer itself is then allocated with its final size, so that nothing ever
// writes beyond what it asked for.
uint64_t UsableSize(uint64_t size) {
  const std::unique_ptr<char[]> probe(new char[size]);
  return malloc_usable_size(probe.get());
}

}  // namespace

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

}  // namespace deltabloom::internal
