// The functions of the layout local that exist once per CPU level. All of
// them write and read the same bytes.
//
// A block is 16 words of 32 bits. Words i and i + 8 are *sector* i. A round of
// probes takes at most one bit in each of the 8 sectors, so that a vector of
// 8 lanes makes all of them at once, without moving words between lanes. A
// key has one round of probes, or two, the second in the next block.
#ifndef DELTABLOOM_UTIL_LOCAL_KERNELS_H_
#define DELTABLOOM_UTIL_LOCAL_KERNELS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "deltabloom/filter.h"
#include "util/hash64.h"

namespace deltabloom::internal {

inline constexpr uint64_t kLocalBlockSize = 64;  // bytes
inline constexpr uint32_t kLocalSectors = 8;
inline constexpr uint32_t kMaxLocalProbes = 2 * kLocalSectors;

// Beyond this size a payload is not expected in the nearer caches, and lines
// are fetched ahead of their use while building.
inline constexpr uint64_t kCachedLocalBlocks =
    (uint64_t{256} << 10) / kLocalBlockSize;

// Where parse() leaves what a kernel needs, in ParsedFilter::geometry.
enum LocalGeometry : unsigned { kLocalBlocks, kLocalFirst, kLocalSecond };

struct LocalShape {
  uint64_t blocks;
  uint32_t first;   // probes in the first block, 1..8
  uint32_t second;  // probes in the next block, 0..8
};

// The first 32 bits of the fractional parts of the cube roots of the first 16
// primes, made odd: 8 for each round.
alignas(64) inline constexpr uint32_t kLocalMultipliers[kMaxLocalProbes] = {
    0x428a2f99, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a5, 0xab1c5ed5, 0xd807aa99, 0x12835b01, 0x243185bf, 0x550c7dc3,
    0x72be5d75, 0x80deb1ff, 0x9bdc06a7, 0xc19bf175};

// Row n: n ones, 8 - n zeros, and the same again. Eight values from [r] on say
// which sectors a round of n probes takes when it begins at r.
struct LocalSectorMasks {
  alignas(64) uint32_t row[kLocalSectors + 1][2 * kLocalSectors];
};

constexpr LocalSectorMasks MakeLocalSectorMasks() {
  LocalSectorMasks masks{};
  for (uint32_t n = 0; n <= kLocalSectors; ++n) {
    for (uint32_t i = 0; i < 2 * kLocalSectors; ++i) {
      masks.row[n][i] = i % kLocalSectors < n ? 1 : 0;
    }
  }
  return masks;
}

inline constexpr LocalSectorMasks kLocalSectorMasks = MakeLocalSectorMasks();

// The sector masks of a round of `probes` for the key with this hash.
inline const uint32_t* LocalMasks(uint64_t hash, uint64_t probes) {
  return &kLocalSectorMasks.row[probes][(hash >> 32) % kLocalSectors];
}

struct LocalKernels {
  using MayMatch = bool (*)(const ParsedFilter&, std::string_view);
  using MayMatchMany = void (*)(const ParsedFilter&, KeyRefs, size_t, bool*);

  // By the number of rounds, less one.
  MayMatch may_match[2];
  MayMatchMany may_match_many[2];

  // Sets the bits of hashes[0 .. n).
  void (*set_bits)(const uint64_t* hashes, size_t n, const LocalShape& shape,
                   unsigned char* payload);
};

// May-match by the hash of a key, at any level.
bool LocalMayMatchHash(const ParsedFilter& parsed, uint64_t hash);

const LocalKernels& LocalPortable();
#if defined(__x86_64__)
const LocalKernels& LocalAvx2();
const LocalKernels& LocalAvx512();
#endif

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_UTIL_LOCAL_KERNELS_H_
