// What a hash means in a filter of the layout compact: docs/format.md, chapter
// "Compact", is the definition.
#ifndef DELTABLOOM_UTIL_LAYOUTS_COMPACT_EQUATION_H_
#define DELTABLOOM_UTIL_LAYOUTS_COMPACT_EQUATION_H_

#include <cstdint>

#include "util/hash64.h"
#include "util/layouts/compact/shape.h"

namespace deltabloom::internal::compact {

// The hash that a layer uses of a key.
inline uint64_t LayerHash(uint64_t hash, unsigned seed, unsigned layer) {
  const unsigned stream = seed * 4 + layer;
  return stream == 0 ? hash : Remix64(hash, stream);
}

// Where in a layer the equation of a key begins (Lemire's fastrange).
inline uint64_t StartOf(uint64_t layer_hash, uint64_t starts) {
  return ScaleHash(layer_hash, starts);
}

// The equation of a key: the XOR of the rows that the bits of `coefficients`
// name, its first row included, is the fingerprint.
struct Equation {
  uint64_t coefficients;
  uint32_t fingerprint;
};

inline Equation EquationOf(uint64_t layer_hash) {
  constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15;
  const Pair64 product = Multiply128(layer_hash, kMultiplier);
  return {product.low | 1, static_cast<uint32_t>(product.high)};
}

// Starts of a bucket from where on keys stay, by its two-bit threshold.
inline constexpr unsigned kThresholds[4] = {0, 16, 40, kBucketStarts};

// True if a key was bumped: it went to a later layer.
inline bool IsBumped(const unsigned char* thresholds, uint64_t first_bucket,
                     uint64_t start) {
  const uint64_t bucket = first_bucket + start / kBucketStarts;
  const unsigned threshold =
      static_cast<unsigned>(thresholds[bucket / 4]) >> (bucket % 4 * 2) & 3;
  return start % kBucketStarts < kThresholds[threshold];
}

}  // namespace deltabloom::internal::compact

#endif  // DELTABLOOM_UTIL_LAYOUTS_COMPACT_EQUATION_H_
