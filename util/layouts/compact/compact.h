// The layout compact: bumped ribbon retrieval of fingerprints (docs/format.md,
// chapter "Compact").
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "util/coding.h"
#include "util/hash64.h"
#include "util/layouts/layout.h"

namespace deltabloom::internal::compact {

extern const LayoutRow kRow;

// --- Where everything is in a payload, and its size ------------------------

inline constexpr uint8_t kMarker = 0x80;
inline constexpr unsigned kSeeds = 16;
inline constexpr unsigned kMaxLayers = 3;
inline constexpr unsigned kMaxColumns = 32;
inline constexpr uint64_t kSizesBytes = 8;

// Rows of a block, and the rows that one key may use.
inline constexpr unsigned kBlockRows = 64;
// Starts that share a threshold.
inline constexpr unsigned kBucketStarts = 128;

struct Shape {
  uint64_t narrow;         // first blocks, with one column less
  uint64_t thresholds_at;  // offset in bytes, after the columns
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

  uint64_t words() const { return thresholds_at / 8; }  // of all columns
  // Two bits for each bucket of the layers that pass keys on.
  uint64_t thresholds_bytes() const {
    return (first_bucket(layers - 1u) + 3) / 4;
  }
  uint64_t payload_size() const {
    return thresholds_at + thresholds_bytes() + kSizesBytes;
  }
};

// The shape of layers with these numbers of blocks, 0 for layers that the
// filter does not have, without columns. Nothing if they contradict the format.
std::optional<Shape> ShapeOfBlocks(
    const std::array<uint64_t, kMaxLayers>& blocks, unsigned seed = 0);

// The shape that a writer chooses for `keys` keys, without columns. Nothing
// where compact does not reach.
std::optional<Shape> ShapeFor(uint64_t keys);

// Gives the shape the columns that fill a payload of this size. False if none
// do.
bool SetPayloadSize(uint64_t payload_size, Shape* shape);

// The shape with another seed.
void SetSeed(unsigned seed, Shape* shape);

// The sizes of the layers and the seed, as stored: kSizesBytes.
void StoreSizes(const Shape& shape, unsigned char* to);
std::optional<Shape> LoadSizes(const unsigned char* from);

// --- What a hash means -----------------------------------------------------

// The hash that a layer uses of a key.
inline uint64_t LayerHash(uint64_t hash, unsigned seed, unsigned layer) {
  const unsigned stream = seed * 4 + layer;
  return stream == 0 ? hash : Remix64(hash, stream);
}

// The place in a layer where the equation of a key begins (Lemire's fastrange).
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

// --- One lookup, up to the comparison with the columns ---------------------

// The equation of a key, and the row where it begins.
struct Located {
  uint64_t row;
  Equation equation;
};

// Locates any key in any filter.
Located Locate(const ParsedFilter& parsed, uint64_t hash);

// Sets *located and returns true for nearly every key in nearly every filter.
// Otherwise returns false; then call Locate.
inline bool LocateQuickly(const ParsedFilter& parsed, uint64_t hash,
                          Located* located) {
  const Shape& shape = parsed.shape.As<Shape>();
  if (__builtin_expect(!shape.plain, 0)) return false;
  const uint64_t start = StartOf(hash, shape.starts(0));
  *located = {start, EquationOf(hash)};
  const bool bumped = IsBumped(parsed.payload + shape.thresholds_at, 0, start);
  return __builtin_expect(!bumped, 1);
}

// An equation laid over the words of the two blocks that its rows are in.
// Column j holds if the parity of (word j of first & low) ^ (word j of
// Second() & high) is bit j of fingerprint.
struct Query {
  const unsigned char* first;  // words of the block in which the rows begin
  uint64_t low;
  uint64_t high;
  uint32_t fingerprint;
  // 1 if the first block lacks the last column. A word can be read there all
  // the same: the next block's, which exists, as the last block is wide.
  uint32_t narrow;

  // Words of the block after it.
  const unsigned char* Second(unsigned columns) const {
    return first + (columns - narrow) * 8;
  }

  // Every line of both blocks.
  void Fetch(unsigned columns) const {
    const unsigned char* last = Second(columns) + columns * 8 - 1;
    for (unsigned at = 0; at < 2 * columns * 8 - 8; at += 64) {
      __builtin_prefetch(first + at);
    }
    __builtin_prefetch(last);
  }
};

// `columns` are those of the shape.
inline Query MakeQuery(const ParsedFilter& parsed, unsigned columns,
                       const Located& located) {
  const uint64_t narrow = parsed.shape.As<Shape>().narrow;
  const uint64_t block = located.row / kBlockRows;
  const unsigned shift = located.row % kBlockRows;
  const uint64_t first = block * columns - std::min(block, narrow);
  return {parsed.payload + first * 8, located.equation.coefficients << shift,
          located.equation.coefficients >> 1 >> (63 - shift),
          located.equation.fingerprint, block < narrow ? 1u : 0u};
}

// Bit 0: column j contradicts the fingerprint.
__attribute__((always_inline)) inline uint64_t Differs(const Query& query,
                                                       unsigned columns,
                                                       unsigned j) {
  const uint64_t rows =
      (LoadFixed64(query.first + j * 8) & query.low) ^
      (LoadFixed64(query.Second(columns) + j * 8) & query.high);
  return static_cast<uint64_t>(__builtin_parityll(rows)) ^
         query.fingerprint >> j;
}

// Nearly all absent keys end at the first four columns.
inline bool PortableHolds(const Query& query, unsigned columns) {
  uint64_t differs = 0;
  unsigned j = 0;
  for (; j + 4 < columns; j += 4) {
    differs = Differs(query, columns, j) | Differs(query, columns, j + 1) |
              Differs(query, columns, j + 2) | Differs(query, columns, j + 3);
    if ((differs & 1) != 0) return false;
  }
  for (; j + 1 < columns; ++j) differs |= Differs(query, columns, j);
  differs |= Differs(query, columns, j) & (query.narrow ^ 1);
  return (differs & 1) == 0;
}

// --- Kernels: the functions that exist once per set of instructions --------

// Arrays are indexed by the number of columns, less one.
struct Kernels {
  Lookup lookup[kMaxColumns];
  bool (*may_match_hash[kMaxColumns])(const ParsedFilter&, uint64_t hash);
};

const Kernels& Portable();
#if defined(DELTABLOOM_HAS_NEON)
const Kernels& Neon();
#endif
#if defined(__x86_64__)
const Kernels& Avx2();
const Kernels& Avx512();
#endif

// --- Building (build.cc) ---------------------------------------------------

// Fills a payload of this shape, in which the seed is chosen. All bytes of the
// payload must be 0. False if no seed works: the hashes are then all there, in
// another order. With keep_hashes false the list is emptied on the way.
bool BuildShape(HashList* hashes, bool keep_hashes, Shape shape, Cpu cpu,
                unsigned char* payload);

// Sets what BuildShape allocates for plan->keys keys.
void SetBuildBytes(const Shape& shape, Plan* plan);

}  // namespace deltabloom::internal::compact
