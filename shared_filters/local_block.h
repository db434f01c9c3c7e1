// The layout local (docs/format.md) in bits that other threads set meanwhile:
// where the bits of a key are, in words of 64 bits. The words, as little-endian
// bytes, are the payload of a filter of that layout.
#ifndef DELTABLOOM_SHARED_FILTERS_LOCAL_BLOCK_H_
#define DELTABLOOM_SHARED_FILTERS_LOCAL_BLOCK_H_

#include <cstdint>

#include "shared_filters/atomic_bits.h"
#include "shared_filters/local_rate.h"
#include "util/layouts/local/local.h"

namespace deltabloom::internal {

inline constexpr uint64_t kLocalBlockWords = local::kBlockSize / 8;
inline constexpr uint64_t kLocalBlockBits =
    kLocalBlockWords * AtomicBits::kWordBits;

// Of a probe: the word of its block, and the bit in it.
struct LocalPlace {
  uint64_t word;
  unsigned bit;
};

inline LocalPlace LocalPlaceOf(uint64_t hash, uint32_t round, uint32_t probe) {
  const uint32_t bit = local::BitOf(hash, round, local::SectorOf(hash, probe));
  return {bit / AtomicBits::kWordBits,
          bit % static_cast<unsigned>(AtomicBits::kWordBits)};
}

// The bits of one round in the words of its block. All sectors, taken or not:
// quicker than a store for each probe.
struct LocalRoundMasks {
  LocalRoundMasks(uint64_t hash, uint32_t round, uint32_t probes) {
    constexpr uint32_t kHalf = kLocalBlockWords / 2;
    const uint32_t* taken = local::MasksOf(hash, probes);
    for (uint32_t i = 0; i < kHalf; ++i) {
      word[i] = 0;
      word[kHalf + i] = 0;
      for (uint32_t sector = 2 * i; sector <= 2 * i + 1; ++sector) {
        const uint32_t place = local::BitOf(hash, round, sector);
        const uint64_t bit = uint64_t{taken[sector]}
                             << place % AtomicBits::kWordBits;
        const uint64_t in_upper =
            0 - uint64_t{place / (kHalf * AtomicBits::kWordBits)};
        word[i] |= bit & ~in_upper;
        word[kHalf + i] |= bit & in_upper;
      }
    }
  }
  uint64_t word[kLocalBlockWords];
};

// A key's blocks: the first word of each.
struct LocalWords {
  LocalWords(uint64_t hash, uint64_t blocks) {
    const uint64_t block = local::BlockOf(hash, blocks);
    first = block * kLocalBlockWords;
    second = local::NextBlock(block, blocks) * kLocalBlockWords;
  }
  uint64_t first;
  uint64_t second;
};

// Sets the bits of one round; returns how many of them this call set. Branches
// on which words have a bit, or miss one, would be mispredicted.
inline unsigned SetLocalRound(AtomicBits* bits, uint64_t first_word,
                              uint64_t hash, uint32_t round, uint32_t probes) {
  const LocalRoundMasks masks(hash, round, probes);
  uint64_t incomplete[kLocalBlockWords];
  unsigned count = 0;
  for (uint64_t i = 0; i < kLocalBlockWords; ++i) {
    incomplete[count] = i;
    count += (masks.word[i] & ~bits->Word(first_word + i)) != 0 ? 1 : 0;
  }
  unsigned newly_set = 0;
  for (unsigned i = 0; i < count; ++i) {
    const uint64_t word = incomplete[i];
    const uint64_t set = bits->OrUnread(first_word + word, masks.word[word]);
    // Two sectors reach into a word: two bits at most.
    newly_set += (set != 0 ? 1 : 0) + ((set & (set - 1)) != 0 ? 1 : 0);
  }
  return newly_set;
}

// Are the bits of probes begin .. end - 1 of one round set? Without a branch
// between them: half of the bits are set, so each would be mispredicted.
inline bool TestLocalProbes(const AtomicBits& bits, uint64_t first_word,
                            uint64_t hash, uint32_t round, uint32_t begin,
                            uint32_t end) {
  uint64_t all = 1;
  for (uint32_t probe = begin; probe < end; ++probe) {
    const LocalPlace place = LocalPlaceOf(hash, round, probe);
    all &= bits.Word(first_word + place.word) >> place.bit;
  }
  return all != 0;
}

inline bool TestLocalRound(const AtomicBits& bits, uint64_t first_word,
                           uint64_t hash, uint32_t round, uint32_t probes) {
  constexpr uint32_t kFirstProbes = 4;
  const uint32_t few = probes < kFirstProbes ? probes : kFirstProbes;
  return TestLocalProbes(bits, first_word, hash, round, 0, few) &&
         TestLocalProbes(bits, first_word, hash, round, few, probes);
}

// The last byte of a filter with these probes.
inline uint8_t LocalMarker(local::Probes probes) {
  return static_cast<uint8_t>(
      (probes.second == 0 ? local::kOneBlock : local::kTwoBlocks) +
      probes.first + probes.second);
}

// The chance that a key's bits are all set, over all keys whose first block is
// `block`.
double LocalBlockRate(const AtomicBits& bits, uint64_t block, uint64_t blocks,
                      local::Probes probes);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_SHARED_FILTERS_LOCAL_BLOCK_H_
