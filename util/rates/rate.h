// The false-positive rate of the filters that rows of layouts plan, and back:
// what is really built, with its fallbacks and its whole blocks, as the rows
// compute or were measured (LayoutRow::rate).
#ifndef DELTABLOOM_UTIL_RATES_RATE_H_
#define DELTABLOOM_UTIL_RATES_RATE_H_

#include <cstdint>

#include "util/layouts/layout.h"

namespace deltabloom::internal {

// The rate of the filter that PlanFilter plans: 0 for no keys. It falls with
// the bits but for a step or two upwards of a few per cent, where a layout
// changes its number of probes.
double RateOfPlan(const Plan& plan);
double RateForMillibits(const LayoutRow* row, uint64_t keys,
                        uint32_t millibits_per_key);

// The legal range of false_positive_rate, where one is set. Below the least,
// hashes of 64 bits would be what decides.
inline constexpr double kLeastRate = 1e-9;
bool ValidRate(double rate);

struct MillibitsAndRate {
  uint32_t millibits;
  double rate;  // of the filter planned with them
};

// The fewest bits, to a thousandth of them, with which the filter has at most
// this rate. Where no bits do, for the hash of the layout is too short or its
// bits have an end, the fewest that come within a tenth of the least rate.
MillibitsAndRate MillibitsForRate(const LayoutRow* row, uint64_t keys,
                                  double rate);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_UTIL_RATES_RATE_H_
