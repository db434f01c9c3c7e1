#include "util/rates/layout_rates.h"

#include <algorithm>
#include <cstdint>

#include "util/layouts/layout.h"

namespace deltabloom::internal {
namespace {

// "within a tenth", as layout_rates.h says.
constexpr double kNearLeastRate = 1.1;

}  // namespace

double PlanRate(const Plan& plan) {
  return plan.keys == 0 ? 0 : plan.layout->rate(plan.shape, plan.keys);
}

double RateForMillibits(const LayoutRow* row, uint64_t keys,
                        uint32_t millibits_per_key) {
  return PlanRate(PlanFilter(row, keys, millibits_per_key));
}

MillibitsAndRate MillibitsForRate(const LayoutRow* row, uint64_t keys,
                                  double rate) {
  const auto at = [&](uint32_t millibits) {
    return MillibitsAndRate{millibits, RateForMillibits(row, keys, millibits)};
  };
  MillibitsAndRate low = at(0);
  if (!(low.rate > rate)) return low;
  // `low` has too high a rate, `high` one that will do. From few bits upwards,
  // as the rate of classic rises again where a filter has many probes.
  MillibitsAndRate high = at(500);
  while (high.rate > rate) {
    low = high;
    // No bits suffice. The rate of classic hardly falls any more long before
    // this, so a rate near the least takes far fewer bits.
    if (high.millibits == kMaxMillibits) {
      return MillibitsForRate(row, keys, kNearLeastRate * high.rate);
    }
    // In steps of a quarter the lowest rate of classic is not stepped over.
    high = at(std::min(kMaxMillibits, high.millibits / 4 * 5));
  }
  while (high.millibits - low.millibits > 1 + high.millibits / 1000) {
    const MillibitsAndRate middle =
        at(low.millibits + (high.millibits - low.millibits) / 2);
    (middle.rate > rate ? low : high) = middle;
  }
  return high;
}

}  // namespace deltabloom::internal
