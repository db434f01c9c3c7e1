// The false-positive rate of the filters that rows of layouts plan, with their
// fallbacks and whole blocks, and back.
#pragma once

#include <cstdint>

#include "util/layouts/layout.h"

namespace deltabloom::internal {

// Returns the rate of the filter that PlanFilter plans; 0 for no keys. It falls
// with the bits, except for one or two small steps where the number of probes
// changes.
double PlanRate(const Plan& plan);
double RateForMillibits(const LayoutRow* row, uint64_t keys,
                        uint32_t millibits_per_key);

struct MillibitsAndRate {
  uint32_t millibits;
  double rate;  // of the filter planned with them
};

// Returns the fewest bits, to a thousandth of them, with which the filter has
// at most this rate; where no bits suffice, the fewest that come within a tenth
// of the least possible rate.
MillibitsAndRate MillibitsForRate(const LayoutRow* row, uint64_t keys,
                                  double rate);

}  // namespace deltabloom::internal
