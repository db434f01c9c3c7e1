// The layout local: a Bloom filter in blocks of 64 bytes (docs/format.md,
// chapter "Local").
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "util/coding.h"
#include "util/hash64.h"
#include "util/layouts/layout.h"

namespace deltabloom::internal::local {

extern const LayoutRow kRow;

// --- What the bytes of a filter say ----------------------------------------

inline constexpr uint64_t kBlockSize = 64;  // bytes
inline constexpr uint32_t kSectors = 8;
inline constexpr uint32_t kMaxProbes = 2 * kSectors;

// Last bytes: 32 + probes in one block, 40 + probes in two.
inline constexpr uint8_t kOneBlock = 32;
inline constexpr uint8_t kTwoBlocks = 40;

struct Shape {
  uint64_t blocks;
  uint32_t first;   // probes in the first block, 1..8
  uint32_t second;  // probes in the next block, 0..8
};

// Returns false if the marker and the size are not those of a filter.
bool ShapeOf(uint8_t marker, uint64_t payload_size, Shape* shape);

// --- Where the bits of a key are -------------------------------------------
//
// A block is 16 words of 32 bits. Words i and i + 8 are *sector* i. A round of
// probes takes at most one bit in each of the 8 sectors, so that a vector of
// 8 lanes makes all of them at once, without moving words between lanes. A
// key has one round of probes, or two, the second in the next block.

// The first block of the key with this hash (Lemire's fastrange).
inline uint64_t BlockOf(uint64_t hash, uint64_t blocks) {
  return ScaleHash(hash, blocks);
}

// The block after `block`; the first one after the last.
inline uint64_t NextBlock(uint64_t block, uint64_t blocks) {
  return block + 1 == blocks ? 0 : block + 1;
}

// The first 32 bits of the fractional parts of the cube roots of the first 16
// primes, made odd: 8 for each round.
alignas(64) inline constexpr uint32_t kMultipliers[kMaxProbes] = {
    0x428a2f99, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a5, 0xab1c5ed5, 0xd807aa99, 0x12835b01, 0x243185bf, 0x550c7dc3,
    0x72be5d75, 0x80deb1ff, 0x9bdc06a7, 0xc19bf175};

// Row n has n ones, 8 - n zeros, and the same again. The eight values from [r]
// on say which sectors a round of n probes takes when it begins at r.
struct SectorMasks {
  alignas(64) uint32_t row[kSectors + 1][2 * kSectors];
};

inline constexpr SectorMasks kSectorMasks = [] {
  SectorMasks masks{};
  for (uint32_t n = 0; n <= kSectors; ++n) {
    for (uint32_t i = 0; i < 2 * kSectors; ++i) {
      masks.row[n][i] = i % kSectors < n ? 1 : 0;
    }
  }
  return masks;
}();

inline uint32_t FirstSector(uint64_t hash) {
  return static_cast<uint32_t>(hash >> 32) % kSectors;
}

// The sector of a probe: masks of n ones begin at [r], so the sectors taken are
// those i with (i + r) mod 8 < n.
inline uint32_t SectorOf(uint64_t hash, uint32_t probe) {
  return (probe + kSectors - FirstSector(hash)) % kSectors;
}

// Returns a number whose bits 27..31 choose the bit of a word, and whose bit 26
// chooses the word: the upper one if it is set.
inline uint32_t ProductOf(uint64_t hash, uint32_t round, uint32_t sector) {
  return static_cast<uint32_t>(hash) * kMultipliers[round * kSectors + sector];
}

// The bit of a block, 0..511, that a probe tests.
inline uint32_t BitOf(uint64_t hash, uint32_t round, uint32_t probe) {
  const uint32_t sector = SectorOf(hash, probe);
  const uint32_t product = ProductOf(hash, round, sector);
  const uint32_t word = sector + (product >> 26) % 2 * kSectors;
  return 32 * word + (product >> 27);
}

// A round of probes in a block, for any machine.
class PortableRounds {
 public:
  // Returns whether all bits of the round are set. A branch per probe would be
  // mispredicted, as half of the bits are set, so there is a single branch,
  // after the first four probes. Not inlined: gcc 12 makes slower code if it
  // is.
  __attribute__((noinline)) static bool Test(const unsigned char* block,
                                             uint64_t hash, uint32_t round,
                                             uint32_t probes) {
    const uint32_t few = std::min(probes, 4u);
    return TestSome(block, hash, round, 0, few) &&
           (few == probes || TestSome(block, hash, round, few, probes));
  }

  static void Set(unsigned char* block, uint64_t hash, uint32_t round,
                  uint32_t probes) {
    for (uint32_t probe = 0; probe < probes; ++probe) {
      const uint32_t bit = BitOf(hash, round, probe);
      block[bit / 8] =
          static_cast<unsigned char>(block[bit / 8] | 1u << (bit % 8));
    }
  }

 private:
  static bool TestSome(const unsigned char* block, uint64_t hash,
                       uint32_t round, uint32_t begin, uint32_t end) {
    uint32_t all = 1;
    for (uint32_t probe = begin; probe < end; ++probe) {
      const uint32_t sector = SectorOf(hash, probe);
      const uint32_t product = ProductOf(hash, round, sector);
      const uint32_t upper = (product >> 26) % 2 * (kBlockSize / 2);
      all &= LoadFixed32(block + 4 * sector + upper) >> (product >> 27);
    }
    return all != 0;
  }
};

// --- Kernels: the functions that exist once per set of instructions --------

// The blocks of larger payloads are prefetched.
inline constexpr uint64_t kPrefetchBuildAbove = uint64_t{256} << 10;

struct Kernels {
  Lookup lookup[2];  // by the number of rounds, less one

  void (*set_bits)(const uint64_t* hashes, size_t n, const Shape& shape,
                   unsigned char* payload);
};

const Kernels& Portable();
#if defined(DELTABLOOM_HAS_NEON)
const Kernels& Neon();
#endif
#if defined(__x86_64__)
const Kernels& Avx2();
#endif

// LayoutRow::may_match_hash, portable.
bool MayMatchHash(const ParsedFilter& parsed, uint64_t hash);

// --- Rates (rate.cc) -------------------------------------------------------

// From this number of blocks on, a key's block, the previous one and the next
// one differ.
inline constexpr uint64_t kApartFromBlocks = 3;

// The expected rate of filters with such probes, over all keys and all places
// of their bits. Exact, except where two bits of a key coincide, as happens
// with two rounds of probes in a single block.
//
// Inclusion and exclusion over the sets T of bits that an absent key tests:
// the chance that all are set is the sum over T of (-1)^|T| times the chance
// that no key sets a bit of T. Of one stored key in one of `blocks` blocks,
// that is 1 - c(T) / blocks, where c(T) depends on which sectors T has.
class RateOfProbes {
 public:
  // For 1 to 8 probes in a key's block and 0 to 8 in the next one, in filters
  // of `blocks` blocks, which counts only up to kApartFromBlocks.
  RateOfProbes(uint32_t first, uint32_t second,
               uint64_t blocks = kApartFromBlocks);

  double operator()(uint64_t keys, uint64_t blocks) const {
    return At(static_cast<double>(keys), static_cast<double>(blocks));
  }
  double At(double keys, double blocks) const;

 private:
  // Sets T of equal c(T) together.
  struct Term {
    double weight;
    double c;
  };
  template <typename Real>
  double RateByBits(Real keys, Real blocks) const;

  std::vector<Term> terms_;
};

double Rate(const AnyShape& shape, uint64_t keys);
ContentEstimate EstimateContent(const ParsedFilter& parsed);

}  // namespace deltabloom::internal::local
