// The size of a filter: what the settings of its builder, its keys and the
// limit max_filter_bytes make of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "table/framing.h"
#include "util/layouts/layout.h"

namespace deltabloom::internal {

struct BuilderSettings;  // sealed_bits.h

// The size of a sealed filter with a payload of one byte and no probes, which
// matches every key.
inline constexpr size_t kAlwaysMatchSize = 1 + kSealedFramingSize;

struct FilterBits {
  uint32_t millibits_per_key;  // 0: no filter
  bool lowered;                // to fit max_filter_bytes
};

// Returns the bits of a filter of `keys` keys with this layout, which are those
// of the settings where max_filter_bytes allows it. REQUIRES: keys is 1 or
// more.
FilterBits BitsFor(const BuilderSettings& settings, const LayoutRow& layout,
                   uint64_t keys);

// Returns the plan of the filter that a builder with these settings makes of
// `keys` keys, 1 or more; without a layout if it makes none.
Plan PlanSealed(const BuilderSettings& settings, uint64_t keys);

// Returns the bytes of a filter of `keys` keys, framing included, with the
// layout of the settings.
uint64_t SealedSize(const BuilderSettings& settings, uint64_t keys);

// Returns the most keys with which a filter has at most `bytes` bytes and at
// most max_filter_bytes without fewer bits per key. It is less than 2^32.
uint64_t KeysWithin(const BuilderSettings& settings, uint64_t bytes);

struct FilterBuffer {
  Plan plan;
  std::unique_ptr<char[]> bytes;  // zeroed, for payload and framing
};

// Allocates a buffer of the size that the layout plans for the keys. With
// optimize_for_memory the filter also takes what the allocator hands out beyond
// it, up to max_filter_bytes; it is never smaller. Throws std::bad_alloc.
FilterBuffer AllocateFilter(const BuilderSettings& settings,
                            const LayoutRow& layout, uint64_t keys,
                            uint32_t millibits_per_key);

}  // namespace deltabloom::internal
