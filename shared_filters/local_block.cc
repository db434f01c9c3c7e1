#include "shared_filters/local_block.h"

namespace deltabloom::internal {
namespace {

// The share of bits that are set in each sector of a block.
struct Fill {
  double sector[local::kSectors];
};

Fill FillOf(const AtomicBits& bits, uint64_t block) {
  constexpr uint64_t kHalf = kLocalBlockWords / 2;
  Fill fill;
  for (uint64_t i = 0; i < kHalf; ++i) {
    const uint64_t low = bits.Word(block * kLocalBlockWords + i);
    const uint64_t high = bits.Word(block * kLocalBlockWords + kHalf + i);
    const uint64_t even = (low & UINT32_MAX) | high << 32;
    const uint64_t odd = low >> 32 | (high & ~uint64_t{UINT32_MAX});
    fill.sector[2 * i] = __builtin_popcountll(even) / 64.0;
    fill.sector[2 * i + 1] = __builtin_popcountll(odd) / 64.0;
  }
  return fill;
}

// All probes of a round that begins in `sector` find their bit.
double Chance(const Fill& fill, uint32_t sector, uint32_t probes) {
  double chance = 1;
  for (uint32_t probe = 0; probe < probes; ++probe) {
    chance *= fill.sector[(sector + probe) % local::kSectors];
  }
  return chance;
}

}  // namespace

double LocalBlockRate(const AtomicBits& bits, uint64_t block, uint64_t blocks,
                      local::Probes probes) {
  const Fill first = FillOf(bits, block);
  const Fill second = probes.second == 0
                          ? Fill{}
                          : FillOf(bits, local::NextBlock(block, blocks));
  double sum = 0;
  for (uint32_t sector = 0; sector < local::kSectors; ++sector) {
    sum += Chance(first, sector, probes.first) *
           Chance(second, sector, probes.second);
  }
  return sum / local::kSectors;
}

}  // namespace deltabloom::internal
