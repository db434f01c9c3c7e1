// Bits per run "by hand": the best that filters of known rates can do on a tree
// that is known.
#ifndef DELTABLOOM_DB_BENCH_EXT_LEVELS_ALLOCATION_H_
#define DELTABLOOM_DB_BENCH_EXT_LEVELS_ALLOCATION_H_

#include <vector>

#include "db_bench_ext/levels/rates.h"

namespace deltabloom::levels {

struct AllocationRun {
  double keys = 0;
  double share = 1;  // of the lookups that ask its filter
  const std::vector<CurvePoint>* curve = nullptr;
};

// Bits per key of each run, `bits` in all, with the least sum of share * rate.
// Convex optimisation by exchange: bits go, piece by piece, where one more bit
// prevents the most false positives (Dayan, Athanassoulis, Idreos, "Monkey",
// SIGMOD 2017, with measured rates in place of an ideal formula).
std::vector<double> BestBitsPerKey(const std::vector<AllocationRun>& runs,
                                   double bits);

// The rate that a curve has at a size, on a logarithmic scale between points.
double RateAt(const std::vector<CurvePoint>& curve, double bits_per_key);

}  // namespace deltabloom::levels

#endif  // DELTABLOOM_DB_BENCH_EXT_LEVELS_ALLOCATION_H_
