// A search for sizes.
#ifndef DELTABLOOM_SHARED_FILTERS_SMALLEST_NUMBER_H_
#define DELTABLOOM_SHARED_FILTERS_SMALLEST_NUMBER_H_

#include <algorithm>
#include <cstdint>

namespace deltabloom::internal {

// The smallest n in [low, high] for which fits(n), or 0. From some n on all
// fit.
template <typename Fits>
uint64_t SmallestNumber(uint64_t low, uint64_t high, Fits fits) {
  uint64_t end = low;
  while (end < high && !fits(end)) {
    low = end + 1;
    end = std::min(high, 2 * end);
  }
  if (low > high || (end == high && !fits(high))) return 0;
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

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_SHARED_FILTERS_SMALLEST_NUMBER_H_
