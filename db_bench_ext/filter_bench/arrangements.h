// The filters of one table arranged per data block, in partitions and as a
// whole, with the public interface that an engine of one's own would use.
#ifndef DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_ARRANGEMENTS_H_
#define DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_ARRANGEMENTS_H_

#include <vector>

#include "db_bench_ext/filter_bench/collector.h"
#include "db_bench_ext/filter_bench/options.h"
#include "db_bench_ext/filter_bench/results.h"

namespace deltabloom::bench {

// Each arrangement in each setting. Throws std::runtime_error if one of them
// loses a key.
std::vector<ArrangementRow> MeasureArrangements(const Options& options,
                                                Collector* collector);

}  // namespace deltabloom::bench

#endif  // DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_ARRANGEMENTS_H_
