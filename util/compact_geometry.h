// Where everything is in a payload of the layout compact, and what a hash
// means there: docs/format.md, chapter "Compact", is the definition.
#ifndef DELTABLOOM_UTIL_COMPACT_GEOMETRY_H_
#define DELTABLOOM_UTIL_COMPACT_GEOMETRY_H_

#include <algorithm>
#include <cstdint>

#include "util/coding.h"
#include "util/hash64.h"

namespace deltabloom::internal {

inline constexpr uint8_t kCompactMarker = 0x80;
inline constexpr unsigned kCompactSeeds = 16;
inline constexpr unsigned kMaxCompactLayers = 3;
inline constexpr unsigned kMaxCompactColumns = 32;
inline constexpr uint64_t kCompactSizesBytes = 8;

// Rows of a block, and the rows that one key may use.
inline constexpr unsigned kBlockRows = 64;
// Starts that share a threshold.
inline constexpr unsigned kBucketStarts = 128;
// Starts of a bucket from where on keys stay, by its two-bit threshold.
inline constexpr unsigned kThresholds[4] = {0, 16, 40, kBucketStarts};

struct CompactLayer {
  uint64_t starts = 0;        // a multiple of kBlockRows
  uint64_t first_row = 0;     // row of start 0
  uint64_t first_bucket = 0;  // among the buckets of all layers
};

struct CompactGeometry {
  CompactLayer layer[kMaxCompactLayers];
  unsigned layers = 0;
  unsigned seed = 0;
  unsigned columns = 0;  // of the wide blocks
  uint64_t narrow = 0;   // first blocks, with one column less
  uint64_t blocks = 0;
  uint64_t words = 0;          // 64-bit words of all columns
  uint64_t thresholds_at = 0;  // offset in bytes
  uint64_t thresholds_bytes = 0;

  uint64_t payload_size() const {
    return thresholds_at + thresholds_bytes + kCompactSizesBytes;
  }
  uint64_t buckets(unsigned of_layer) const {
    return (layer[of_layer].starts + kBucketStarts - 1) / kBucketStarts;
  }
  // The word at which a block begins.
  uint64_t FirstWord(uint64_t block) const {
    return block * columns - std::min(block, narrow);
  }
  unsigned Width(uint64_t block) const {
    return block < narrow ? columns - 1 : columns;
  }
};

// The number of blocks of each layer, as stored.
struct CompactSizes {
  uint64_t blocks[kMaxCompactLayers] = {};
  unsigned seed = 0;
};

// All blocks: one beyond the starts takes the last keys' further rows.
inline uint64_t CompactBlocks(const CompactSizes& sizes) {
  return sizes.blocks[0] + sizes.blocks[1] + sizes.blocks[2] + 1;
}

// The last layer of three has a power of two of blocks.
inline constexpr unsigned kMaxLastLayerLog2 = 14;

// The sizes a writer chooses for `keys` keys; all zero where compact does not
// reach.
CompactSizes CompactSizesFor(uint64_t keys);

// What the sizes and the payload's size determine. False if they contradict
// each other or the format.
bool MakeCompactGeometry(const CompactSizes& sizes, uint64_t payload_size,
                         CompactGeometry* geometry);

// Bytes of a payload with these sizes but for its columns.
uint64_t CompactFixedBytes(const CompactSizes& sizes);

void StoreCompactSizes(const CompactSizes& sizes, unsigned char* to);
CompactSizes LoadCompactSizes(const unsigned char* from);

// The hash that a layer uses of a key, by the layer's stream.
constexpr uint64_t CompactStream(unsigned seed, unsigned layer) {
  return seed * 4 + layer;
}
inline uint64_t CompactLayerHash(uint64_t hash, uint64_t stream) {
  return stream == 0 ? hash : Remix64(hash, stream);
}

// The equation of a key: the XOR of the rows that the bits of `coefficients`
// name, its first row included, is the fingerprint.
struct CompactEquation {
  uint64_t coefficients;
  uint32_t fingerprint;
};

inline CompactEquation EquationOf(uint64_t layer_hash) {
  constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15;
  const Pair64 product = Multiply128(layer_hash, kMultiplier);
  return {product.low | 1, static_cast<uint32_t>(product.high)};
}

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_UTIL_COMPACT_GEOMETRY_H_
