// Looks keys up in a database and counts the data blocks that RocksDB asked
// for, wherever they came from; and what the model says they should be.
#ifndef DELTABLOOM_DB_BENCH_EXT_LEVELS_MEASURE_H_
#define DELTABLOOM_DB_BENCH_EXT_LEVELS_MEASURE_H_

#include <cstdint>
#include <map>
#include <optional>

#include "db_bench_ext/common/program.h"
#include "db_bench_ext/levels/database.h"
#include "db_bench_ext/levels/rates.h"
#include "db_bench_ext/levels/tree.h"

namespace deltabloom::levels {

struct LookupCounts {
  uint64_t lookups = 0;
  uint64_t data_blocks = 0;  // BLOCK_CACHE_DATA_HIT + BLOCK_CACHE_DATA_MISS
  double seconds = 0;
  std::map<int, uint64_t> found;  // keys, by level

  double Reads() const {
    return static_cast<double>(data_blocks) / static_cast<double>(lookups);
  }
  double Nanoseconds() const {
    return seconds * 1e9 / static_cast<double>(lookups);
  }
};

// Keys that were never inserted. Throws std::runtime_error if one is found.
LookupCounts LookUpAbsent(const Database& database, uint64_t lookups,
                          uint64_t seed, bench::ProgressBar* progress);

// Absent and present keys in turn. Throws std::runtime_error if a present key
// is not found.
LookupCounts LookUpMixed(const Database& database, uint64_t lookups,
                         uint64_t seed, bench::ProgressBar* progress);

// Data blocks per lookup.
struct Prediction {
  double reads = 0;
  double variance = 0;  // of one lookup: whether filters let it through
  double error = 0;     // standard error of the model itself: of the rates that
                        // it rests on, and of what filters differ in
};

// Sums of the rates of the filters as built. Filters of no bytes are passed.
Prediction PredictAbsent(const Tree& tree, Rates* rates);
// The same by what the layouts' own tables say; none if a filter is not
// Deltabloom's.
std::optional<double> FormulaAbsent(const Tree& tree);
// `counts` tells on which levels the present keys are.
Prediction PredictMixed(const Tree& tree, const LookupCounts& counts,
                        Rates* rates);

// By how many standard errors, of counting and of the model, the measured reads
// are above the predicted ones.
double StandardErrors(const LookupCounts& counts, const Prediction& prediction);

// Standard error of the measured reads alone.
double CountingError(const LookupCounts& counts, const Prediction& prediction);

}  // namespace deltabloom::levels

#endif  // DELTABLOOM_DB_BENCH_EXT_LEVELS_MEASURE_H_
