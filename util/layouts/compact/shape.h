// Where everything is in a payload of the layout compact, and how large one
// becomes: docs/format.md, chapter "Compact", is the definition.
#ifndef DELTABLOOM_UTIL_LAYOUTS_COMPACT_SHAPE_H_
#define DELTABLOOM_UTIL_LAYOUTS_COMPACT_SHAPE_H_

#include <algorithm>
#include <cstdint>

#include "util/layouts/layout.h"

namespace deltabloom::internal::compact {

inline constexpr uint8_t kMarker = 0x80;
inline constexpr unsigned kSeeds = 16;
inline constexpr unsigned kMaxLayers = 3;
inline constexpr unsigned kMaxColumns = 32;
inline constexpr uint64_t kSizesBytes = 8;

// Rows of a block, and the rows that one key may use.
inline constexpr unsigned kBlockRows = 64;
// Starts that share a threshold.
inline constexpr unsigned kBucketStarts = 128;

// The number of blocks of each layer and the seed, as stored.
struct Sizes {
  uint64_t blocks[kMaxLayers] = {};
  unsigned seed = 0;
};

void StoreSizes(const Sizes& sizes, unsigned char* to);
Sizes LoadSizes(const unsigned char* from);

// The sizes a writer chooses for `keys` keys; all zero where compact does not
// reach.
Sizes SizesFor(uint64_t keys);

struct Shape {
  uint64_t narrow;         // first blocks, with one column less
  uint64_t thresholds_at;  // offset in bytes, behind the columns
  uint32_t layer_blocks[kMaxLayers];
  uint8_t layers;
  uint8_t seed;
  uint8_t columns;  // of the wide blocks
  bool plain;       // more layers than one, and the first has the hash as it is

  // Places at which equations of a layer may begin.
  uint64_t starts(unsigned layer) const {
    return uint64_t{layer_blocks[layer]} * kBlockRows;
  }
  uint64_t buckets(unsigned layer) const {
    return (uint64_t{layer_blocks[layer]} + 1) / 2;
  }
  // The row of start 0, and the first bucket among those of all layers.
  uint64_t first_row(unsigned layer) const {
    uint64_t blocks = 0;
    for (unsigned i = 0; i < layer; ++i) blocks += layer_blocks[i];
    return blocks * kBlockRows;
  }
  uint64_t first_bucket(unsigned layer) const {
    uint64_t all = 0;
    for (unsigned i = 0; i < layer; ++i) all += buckets(i);
    return all;
  }

  // All blocks: one beyond the starts takes the last keys' further rows.
  uint64_t blocks() const {
    return uint64_t{layer_blocks[0]} + layer_blocks[1] + layer_blocks[2] + 1;
  }
  // The word at which a block begins, and its words.
  uint64_t FirstWord(uint64_t block) const {
    return block * columns - std::min(block, narrow);
  }
  unsigned Width(uint64_t block) const {
    return block < narrow ? columns - 1u : columns;
  }

  uint64_t words() const { return thresholds_at / 8; }  // of all columns
  // Two bits for each bucket of the layers that pass keys on.
  uint64_t thresholds_bytes() const {
    return (first_bucket(layers - 1u) + 3) / 4;
  }
  uint64_t payload_size() const {
    return thresholds_at + thresholds_bytes() + kSizesBytes;
  }
};

// What the sizes and the payload's size determine. False if they contradict
// each other or the format.
bool ShapeOf(const Sizes& sizes, uint64_t payload_size, Shape* shape);

// The shape with another seed.
void SetSeed(unsigned seed, Shape* shape);

// The sizes of a shape.
Sizes SizesOf(const Shape& shape);

// For the row, which says what they do.
bool MakePlan(uint32_t millibits_per_key, Plan* plan);
void Grow(Plan* plan, uint64_t payload_limit);
double Rate(const AnyShape& shape, uint64_t keys);

}  // namespace deltabloom::internal::compact

#endif  // DELTABLOOM_UTIL_LAYOUTS_COMPACT_SHAPE_H_
