// Statistics of repeated measurements.
#ifndef DELTABLOOM_DB_BENCH_EXT_COMMON_STATISTICS_H_
#define DELTABLOOM_DB_BENCH_EXT_COMMON_STATISTICS_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace deltabloom::bench {

// The median: the mean of the two in the middle where their number is even.
// REQUIRES: values is not empty.
inline double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle]
                                : (values[middle - 1] + values[middle]) / 2;
}

// The standard deviation of a rate measured as `rate` in `samples` trials.
inline double BinomialError(double rate, uint64_t samples) {
  if (samples == 0) return 1;
  return std::sqrt(rate * (1 - rate) / static_cast<double>(samples));
}

}  // namespace deltabloom::bench

#endif  // DELTABLOOM_DB_BENCH_EXT_COMMON_STATISTICS_H_
