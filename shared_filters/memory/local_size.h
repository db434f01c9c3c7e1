// The smallest filters of layout local for a false-positive rate.
#pragma once

#include <cstdint>

#include "util/layouts/local/local.h"

namespace deltabloom::internal {

// The smallest n in [low, high] that fits, as all above it do; or 0.
template <typename Fits>
uint64_t SmallestNumber(uint64_t low, uint64_t high, Fits fits) {
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (fits(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low == high && fits(low) ? low : 0;
}

struct LocalSize {
  uint64_t blocks;  // 0: there is none
  uint32_t probes;
};

// The fewest blocks, up to `most`, at which `keys` keys have a rate of at most
// `rate` with 1 to 8 probes in one block; of these probes the fewest.
// corrected(rate, probes) is the rate of what is built.
template <typename Correct>
LocalSize SmallestLocalSize(uint64_t keys, double rate, uint64_t most,
                            Correct corrected) {
  LocalSize best{0, 0};
  for (uint32_t probes = 1; probes <= local::kSectors; ++probes) {
    const local::RateOfProbes rate_of(probes, 0);
    const uint64_t blocks = SmallestNumber(1, most, [&](uint64_t n) {
      return corrected(rate_of(keys, n), probes) <= rate;
    });
    if (blocks == 0) continue;
    best = {blocks, probes};
    most = blocks - 1;
  }
  return best;
}

}  // namespace deltabloom::internal
