// What is left to Python: plots, and docs/performance.md.
#ifndef DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_PYTHON_H_
#define DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_PYTHON_H_

#include <vector>

#include "db_bench_ext/filter_bench/options.h"
#include "db_bench_ext/filter_bench/results.h"

namespace deltabloom::bench {

// Draws *options.plot. False after an error, which has been printed.
bool DrawPlots(const Results& results, const Options& options);

// Makes *options.report by running this program part by part. The exit code.
int WriteReport(const Options& options, int argc, char** argv);

}  // namespace deltabloom::bench

#endif  // DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_PYTHON_H_
