// The false-positive rate of the filters that rows of layouts plan, with their
// fallbacks and whole blocks, and back.
#pragma once

#include <cstdint>
#include <vector>

#include "util/layouts/layout.h"
#include "util/rates/allocation.h"

namespace deltabloom::internal {

// Returns the rate of the filter that PlanFilter plans; 0 for no keys. It falls
// with the bits, except for one or two small steps where the number of probes
// changes.
double PlanRate(const Plan& plan);
double RateForMillibits(const LayoutRow* row, uint64_t keys,
                        uint32_t millibits_per_key);

// Returns whether false_positive_rate may be set to this. Below the legal
// range, hashes of 64 bits would decide.
bool ValidRate(double rate);

struct MillibitsAndRate {
  uint32_t millibits;
  double rate;  // of the filter planned with them
};

// Returns the fewest bits, to a thousandth of them, with which the filter has
// at most this rate; where no bits suffice, the fewest that come within a tenth
// of the least possible rate.
MillibitsAndRate MillibitsForRate(const LayoutRow* row, uint64_t keys,
                                  double rate);

// All probes of classic come from one hash of 32 bits, so its rate falls ever
// more slowly. In filters of a million keys it is 1.3 times that of local at 10
// bits per key, 1.5 times at 15, and 3.9 times at 20.
inline constexpr double kMaxClassicBits = 15;

// A curve for AllocateBits; rows[i] belongs to its option i.
struct LayoutCurve {
  RateCurve curve;
  std::vector<const LayoutRow*> rows;
};

// Returns the curve of a layout. classic is used up to kMaxClassicBits, from
// where on the better of the others takes over; auto means the best of those.
// Each curve is computed once.
const LayoutCurve& CurveOf(Layout layout);

}  // namespace deltabloom::internal
