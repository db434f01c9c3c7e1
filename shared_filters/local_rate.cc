#include "shared_filters/local_rate.h"

#include <algorithm>

#include "util/layouts/local/local.h"

namespace deltabloom::internal {
namespace {

using local::Probes;
using local::RateOfProbes;

constexpr unsigned kBlockBits = local::kBlockSize * 8;
// For one formula at all sizes.
constexpr uint64_t kMinBlocksOfTwo = local::kApartFromBlocks;

// The smallest number of blocks in [low, high] at which the rate is met, or 0.
uint64_t SmallestBlocks(const RateOfProbes& rate_at, uint64_t keys, double rate,
                        uint64_t low, uint64_t high) {
  const auto fits = [&](uint64_t blocks) {
    return rate_at(keys, blocks) <= rate;
  };
  // Mostly a little more than a Bloom filter, so not from the middle.
  uint64_t end = low;
  while (!fits(end)) {
    if (end == high) return 0;
    low = end + 1;
    end = std::min(high, end + end / 4 + 1);
  }
  while (low < end) {
    const uint64_t middle = low + (end - low) / 2;
    if (fits(middle)) {
      end = middle;
    } else {
      low = middle + 1;
    }
  }
  return end;
}

}  // namespace

LocalSize LocalSizeForRate(uint64_t keys, double rate) {
  keys = std::max<uint64_t>(keys, 1);
  const auto most = static_cast<uint64_t>(static_cast<double>(keys) *
                                          kMaxBitsPerKey / kBlockBits) +
                    kMinBlocksOfTwo;
  LocalSize best{0, {0, 0}};
  double best_rate = 1;
  for (uint32_t probes = 1; probes <= local::kSectors; ++probes) {
    const RateOfProbes rate_at({probes, 0});
    const uint64_t end = best.blocks == 0 ? most : best.blocks;
    const uint64_t blocks = SmallestBlocks(rate_at, keys, rate, 1, end);
    if (blocks == 0) continue;
    const double its_rate = rate_at(keys, blocks);
    if (blocks == best.blocks && its_rate >= best_rate) continue;
    best = {blocks, {probes, 0}};
    best_rate = its_rate;
  }
  // A second cache line has to save a twentieth.
  const uint64_t end = best.blocks == 0 ? most : best.blocks - best.blocks / 20;
  if (end <= kMinBlocksOfTwo) return best;
  const Probes two_lines{local::kSectors, local::kSectors};
  const uint64_t blocks = SmallestBlocks(RateOfProbes(two_lines), keys, rate,
                                         kMinBlocksOfTwo, end - 1);
  return blocks == 0 ? best : LocalSize{blocks, two_lines};
}

}  // namespace deltabloom::internal
