// The median, which is what the programs report of repeated measurements.
#ifndef DELTABLOOM_DB_BENCH_EXT_COMMON_STATISTICS_H_
#define DELTABLOOM_DB_BENCH_EXT_COMMON_STATISTICS_H_

#include <algorithm>
#include <cstddef>
#include <vector>

namespace deltabloom::bench {

// The mean of the two in the middle where their number is even.
// REQUIRES: values is not empty.
inline double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle]
                                : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace deltabloom::bench

#endif  // DELTABLOOM_DB_BENCH_EXT_COMMON_STATISTICS_H_
