#include "engines/rocksdb/policy/filter_size.h"

#include <malloc.h>

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <memory>

#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/policy/sealed_bits.h"
#include "table/framing.h"
#include "util/layouts/layout.h"

namespace deltabloom::internal {
namespace {

// The fewest bits to which a size limit may lower a filter. With fewer bits, a
// filter lets at least two in five absent keys through.
constexpr uint32_t kLeastLoweredMillibits = 2000;

// The most bits up to `most` with which the payload has at most payload_limit
// bytes; 0 if they are too few to be of use.
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

// RocksDB keeps the trailer of a block after a filter in its block cache.
constexpr uint64_t kBlockTrailerSize = 5;

}  // namespace

FilterBits BitsFor(const BuilderSettings& settings, const LayoutRow& layout,
                   uint64_t keys) {
  assert(keys > 0);
  const uint32_t set = settings.millibits_per_key;
  const uint64_t limit = settings.max_filter_bytes;
  if (limit == kUnlimited) return {set, false};
  const uint64_t framing_size = SealedFramingSize(settings.seal);
  const uint64_t payload_limit = limit - std::min(limit, framing_size);
  const uint32_t within = MillibitsWithin(payload_limit, layout, keys, set);
  return {within, within < set};
}

Plan PlanSealed(const BuilderSettings& settings, uint64_t keys) {
  const uint32_t millibits =
      BitsFor(settings, *settings.layout, keys).millibits_per_key;
  if (millibits == 0) return {};
  const LayoutRow* const layout = FindAffordableLayout(
      settings.layout, keys, millibits, keys * settings.layout->hash_size,
      settings.detect_corruption, settings.max_build_bytes);
  return PlanFilter(layout, keys, millibits);
}

uint64_t SealedSize(const BuilderSettings& settings, uint64_t keys) {
  const uint64_t framing_size = SealedFramingSize(settings.seal);
  if (keys == 0) return framing_size;
  const uint32_t millibits =
      BitsFor(settings, *settings.layout, keys).millibits_per_key;
  if (millibits == 0) return kAlwaysMatchSize;
  return PlanFilter(settings.layout, keys, millibits).payload_size +
         framing_size;
}

uint64_t KeysWithin(const BuilderSettings& settings, uint64_t bytes) {
  const uint64_t limit = std::min(bytes, settings.max_filter_bytes);
  const uint64_t framing_size = SealedFramingSize(settings.seal);
  // Bisection finds it, as sizes grow with keys.
  uint64_t fits = 0;
  uint64_t exceeds = uint64_t{1} << 32;
  while (exceeds - fits > 1) {
    const uint64_t keys = fits + (exceeds - fits) / 2;
    const uint64_t size =
        PlanFilter(settings.layout, keys, settings.millibits_per_key)
            .payload_size +
        framing_size;
    (size <= limit ? fits : exceeds) = keys;
  }
  return fits;
}

FilterBuffer AllocateFilter(const BuilderSettings& settings,
                            const LayoutRow& layout, uint64_t keys,
                            uint32_t millibits_per_key) {
  const uint64_t framing_size = SealedFramingSize(settings.seal);
  FilterBuffer buffer;
  buffer.plan = PlanFilter(&layout, keys, millibits_per_key);
  if (settings.optimize_for_memory) {
    const uint64_t overhead = framing_size + kBlockTrailerSize;
    const uint64_t wanted = buffer.plan.payload_size + overhead;
    // An allocation shows how many bytes the allocator provides. The buffer
    // itself is then allocated with its final size, so that nothing writes
    // beyond the size that was requested.
    const std::unique_ptr<char[]> probe(new char[wanted]);
    const uint64_t usable = malloc_usable_size(probe.get());
    // A filter that is larger by more than a third would gain little accuracy
    // for its bytes on disk.
    if (usable > wanted && usable - usable / 4 <= wanted) {
      buffer.plan.layout->grow(
          &buffer.plan, std::min(usable - overhead,
                                 settings.max_filter_bytes - framing_size));
    }
  }
  buffer.bytes.reset(new char[buffer.plan.payload_size + framing_size]());
  return buffer;
}

}  // namespace deltabloom::internal
