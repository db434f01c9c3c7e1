// What the bytes of a local filter say, and how large a filter becomes:
// docs/format.md, chapter "Local", is the definition.
#ifndef DELTABLOOM_UTIL_LAYOUTS_LOCAL_SHAPE_H_
#define DELTABLOOM_UTIL_LAYOUTS_LOCAL_SHAPE_H_

#include <cstdint>

#include "util/layouts/layout.h"

namespace deltabloom::internal::local {

inline constexpr uint64_t kBlockSize = 64;  // bytes
inline constexpr uint32_t kSectors = 8;
inline constexpr uint32_t kMaxProbes = 2 * kSectors;

// Last bytes: 32 + probes in one block, 40 + probes in two.
inline constexpr uint8_t kOneBlock = 32;
inline constexpr uint8_t kTwoBlocks = 40;
inline constexpr uint8_t kFirstMarker = kOneBlock + 1;
inline constexpr uint8_t kLastMarker = kTwoBlocks + kMaxProbes;

struct Shape {
  uint64_t blocks;
  uint32_t first;   // probes in the first block, 1..8
  uint32_t second;  // probes in the next block, 0..8
};

// False if the marker and the size are not those of a filter.
bool ShapeOf(uint8_t marker, uint64_t payload_size, Shape* shape);

// For the row, which says what they do.
bool MakePlan(uint32_t millibits_per_key, Plan* plan);
void Grow(Plan* plan, uint64_t payload_limit);

}  // namespace deltabloom::internal::local

#endif  // DELTABLOOM_UTIL_LAYOUTS_LOCAL_SHAPE_H_
