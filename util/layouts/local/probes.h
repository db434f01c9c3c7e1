// Where the bits of a key are in a block.
//
// A block is 16 words of 32 bits. Words i and i + 8 are *sector* i. A round of
// probes takes at most one bit in each of the 8 sectors, so that a vector of
// 8 lanes makes all of them at once, without moving words between lanes. A
// key has one round of probes, or two, the second in the next block.
#ifndef DELTABLOOM_UTIL_LAYOUTS_LOCAL_PROBES_H_
#define DELTABLOOM_UTIL_LAYOUTS_LOCAL_PROBES_H_

#include <cstdint>

#include "util/hash64.h"
#include "util/layouts/local/shape.h"

namespace deltabloom::internal::local {

// The first block of the key with this hash (Lemire's fastrange).
inline uint64_t BlockOf(uint64_t hash, uint64_t blocks) {
  return ScaleHash(hash, blocks);
}

// The block behind it, cyclically.
inline uint64_t NextBlock(uint64_t block, uint64_t blocks) {
  return block + 1 == blocks ? 0 : block + 1;
}

// The first 32 bits of the fractional parts of the cube roots of the first 16
// primes, made odd: 8 for each round.
alignas(64) inline constexpr uint32_t kMultipliers[kMaxProbes] = {
    0x428a2f99, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a5, 0xab1c5ed5, 0xd807aa99, 0x12835b01, 0x243185bf, 0x550c7dc3,
    0x72be5d75, 0x80deb1ff, 0x9bdc06a7, 0xc19bf175};

// Row n: n ones, 8 - n zeros, and the same again. Eight values from [r] on say
// which sectors a round of n probes takes when it begins at r.
struct SectorMasks {
  alignas(64) uint32_t row[kSectors + 1][2 * kSectors];
};

constexpr SectorMasks MakeSectorMasks() {
  SectorMasks masks{};
  for (uint32_t n = 0; n <= kSectors; ++n) {
    for (uint32_t i = 0; i < 2 * kSectors; ++i) {
      masks.row[n][i] = i % kSectors < n ? 1 : 0;
    }
  }
  return masks;
}

inline constexpr SectorMasks kSectorMasks = MakeSectorMasks();

inline uint32_t FirstSector(uint64_t hash) {
  return static_cast<uint32_t>(hash >> 32) % kSectors;
}

// The sector of a probe: masks of n ones begin at [r], so the sectors taken are
// those i with (i + r) mod 8 < n.
inline uint32_t SectorOf(uint64_t hash, uint32_t probe) {
  return (probe + kSectors - FirstSector(hash)) % kSectors;
}

// The bit of a block, 0..511, that a probe in `sector` looks at.
inline uint32_t BitOf(uint64_t hash, uint32_t round, uint32_t sector) {
  const uint32_t product =
      static_cast<uint32_t>(hash) * kMultipliers[round * kSectors + sector];
  const uint32_t word = sector + (product >> 26) % 2 * kSectors;
  return 32 * word + (product >> 27);
}

// The sector masks of a round of `probes` for the key with this hash.
inline const uint32_t* MasksOf(uint64_t hash, uint32_t probes) {
  return &kSectorMasks.row[probes][FirstSector(hash)];
}

}  // namespace deltabloom::internal::local

#endif  // DELTABLOOM_UTIL_LAYOUTS_LOCAL_PROBES_H_
