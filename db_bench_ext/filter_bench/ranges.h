// Range filters side by side: what they let through and what they cost, over
// the length of ranges.
#ifndef DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_RANGES_H_
#define DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_RANGES_H_

#include <vector>

#include "db_bench_ext/filter_bench/options.h"
#include "db_bench_ext/filter_bench/results.h"

namespace deltabloom::bench {

// Throws std::runtime_error if a filter loses a key.
std::vector<RangeRow> MeasureRanges(const Options& options);

}  // namespace deltabloom::bench

#endif  // DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_RANGES_H_
