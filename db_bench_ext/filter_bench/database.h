// What a filter is worth inside RocksDB: Get and MultiGet in a database that
// lies in the block cache, with full and with partitioned filters.
#ifndef DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_DATABASE_H_
#define DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_DATABASE_H_

#include <vector>

#include "db_bench_ext/filter_bench/collector.h"
#include "db_bench_ext/filter_bench/options.h"
#include "db_bench_ext/filter_bench/results.h"

namespace deltabloom::bench {

// Of the competitors with a RocksDB policy, and of no filter. Throws
// std::runtime_error when RocksDB reports an error or loses a key.
std::vector<DatabaseRow> MeasureDatabases(const Options& options,
                                          Collector* collector);

}  // namespace deltabloom::bench

#endif  // DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_DATABASE_H_
