#include "util/layouts/local/estimate.h"

#include <algorithm>
#include <cstdint>

#include "util/coding.h"
#include "util/layouts/local/probes.h"
#include "util/rates/rates.h"

namespace deltabloom::internal::local {
namespace {

constexpr uint64_t kMostBlocks = 128;
constexpr unsigned kBlockBits = kBlockSize * 8;
constexpr unsigned kSectorBits = kBlockBits / kSectors;

// The set bits of each sector.
struct Counts {
  explicit Counts(const unsigned char* block) {
    for (uint32_t i = 0; i < kSectors; ++i) {
      const uint64_t sector = LoadFixed32(block + 4 * i) |
                              uint64_t{LoadFixed32(block + 4 * (i + kSectors))}
                                  << 32;
      of[i] = static_cast<unsigned>(__builtin_popcountll(sector));
      sum += of[i];
    }
  }

  unsigned of[kSectors];
  unsigned sum = 0;
};

// The share of keys whose bits of one round are all set, of those whose sectors
// begin at `place`.
double RoundRate(const Counts& counts, uint32_t place, uint32_t probes) {
  const uint32_t* taken = &kSectorMasks.row[probes][place];
  double rate = 1;
  for (uint32_t i = 0; i < kSectors; ++i) {
    if (taken[i] != 0) rate *= counts.of[i] / double{kSectorBits};
  }
  return rate;
}

}  // namespace

FilterEstimate EstimateFilter(const ParsedFilter& parsed) {
  const Shape& shape = parsed.shape.As<Shape>();
  const uint64_t sampled = std::min(shape.blocks, kMostBlocks);
  uint64_t set = 0;
  double rate = 0;
  for (uint64_t i = 0; i < sampled; ++i) {
    // i * blocks / sampled without overflow.
    const uint64_t block =
        shape.blocks / sampled * i + shape.blocks % sampled * i / sampled;
    const Counts first(parsed.payload + block * kBlockSize);
    const Counts second(
        shape.second == 0
            ? first
            : Counts(parsed.payload +
                     NextBlock(block, shape.blocks) * kBlockSize));
    set += first.sum;
    for (uint32_t place = 0; place < kSectors; ++place) {
      rate += RoundRate(first, place, shape.first) *
              RoundRate(second, place, shape.second);
    }
  }
  const auto count = static_cast<double>(sampled);
  // A key sets the same number of bits per block whichever blocks those are.
  const double most_set = count * kBlockBits - 0.5;  // not infinitely many keys
  FilterEstimate estimate;
  estimate.keys = KeysFromSetBits(count * kBlockBits,
                                  std::min(static_cast<double>(set), most_set),
                                  shape.first + shape.second) *
                  static_cast<double>(shape.blocks) / count;
  estimate.rate = rate / (count * kSectors);
  return estimate;
}

}  // namespace deltabloom::internal::local
