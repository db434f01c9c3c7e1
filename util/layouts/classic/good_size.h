// Sizes of classic filters at which probes do not fall on each other
// (docs/format.md, chapter Classic; docs/design.md says why they do).
#ifndef DELTABLOOM_UTIL_LAYOUTS_CLASSIC_GOOD_SIZE_H_
#define DELTABLOOM_UTIL_LAYOUTS_CLASSIC_GOOD_SIZE_H_

#include <cstdint>

namespace deltabloom::internal::classic {

// Smaller payloads are never adjusted: the effect is not there yet, and a few
// bytes more would be a larger part of them.
inline constexpr uint64_t kSmallestAdjustedSize = uint64_t{32} << 10;

// Whether a payload of this many bytes probes well. True for small ones.
bool IsGoodSize(uint64_t bytes);

// The smallest good size from `bytes` on, at most 36 bytes away. Grows with
// `bytes`.
uint64_t GoodSizeFrom(uint64_t bytes);

// The largest good size up to `bytes`.
uint64_t GoodSizeUpTo(uint64_t bytes);

}  // namespace deltabloom::internal::classic

#endif  // DELTABLOOM_UTIL_LAYOUTS_CLASSIC_GOOD_SIZE_H_
