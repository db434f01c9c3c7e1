#include "util/rates/layout_rates.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "deltabloom/filter.h"
#include "util/layouts/layout.h"
#include "util/rates/allocation.h"

namespace deltabloom::internal {
namespace {

// The keys for which the rates of curves are computed, as in a table of 64 MiB
// with entries of 670 bytes. Only the rate of classic depends on them by much:
// at 10 bits per key it is 0.92 % with 10,000 keys, 1.19 % with these and 1.28
// % with a million.
constexpr uint64_t kKeys = 100'000;

// "within a tenth", as layout_rates.h says.
constexpr double kNearLeastRate = 1.1;

LayoutCurve MakeCurve(Layout layout) {
  std::vector<RateOption> options;
  std::vector<const LayoutRow*> rows;
  const auto add = [&](Layout one, double min_bits, double max_bits) {
    const LayoutRow* row = FindLayout(one);
    options.push_back({[row](double bits) {
                         return RateForMillibits(row, kKeys, ToMillibits(bits));
                       },
                       min_bits, max_bits});
    rows.push_back(row);
  };
  if (layout == Layout::kClassic) {
    add(Layout::kClassic, 0, kMaxClassicBits);
    add(Layout::kLocal, kMaxClassicBits, kMaxBitsPerKey);
    add(Layout::kCompact, kMaxClassicBits, kMaxBitsPerKey);
  } else if (layout == Layout::kAuto) {
    add(Layout::kCompact, 0, kMaxBitsPerKey);
    add(Layout::kLocal, 0, kMaxBitsPerKey);
  } else {
    add(layout, 0, kMaxBitsPerKey);
  }
  return {RateCurve(std::move(options)), std::move(rows)};
}

}  // namespace

double PlanRate(const Plan& plan) {
  return plan.keys == 0 ? 0 : plan.layout->rate(plan.shape, plan.keys);
}

double RateForMillibits(const LayoutRow* row, uint64_t keys,
                        uint32_t millibits_per_key) {
  return PlanRate(PlanFilter(row, keys, millibits_per_key));
}

bool ValidRate(double rate) {
  constexpr double kLeastRate = 1e-9;  // by the public headers
  // NaN fails this comparison.
  return rate >= kLeastRate && rate < 1;
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

const LayoutCurve& CurveOf(Layout layout) {
  // Never destroyed: policies may outlive static objects.
  static const auto& curves = *new std::map<Layout, LayoutCurve>{
      {Layout::kClassic, MakeCurve(Layout::kClassic)},
      {Layout::kLocal, MakeCurve(Layout::kLocal)},
      {Layout::kCompact, MakeCurve(Layout::kCompact)},
      {Layout::kAuto, MakeCurve(Layout::kAuto)}};
  const auto known = curves.find(layout);
  return known == curves.end() ? curves.at(Layout::kAuto) : known->second;
}

}  // namespace deltabloom::internal
