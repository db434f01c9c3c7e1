#include "util/rates/layout_rates.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "deltabloom/filter.h"

namespace deltabloom::internal {
namespace {

// The keys of a table of common size; only the rate of classic depends on it
// by much.
constexpr uint64_t kKeys = 100'000;

LayoutCurve MakeCurve(Layout layout) {
  std::vector<RateOption> options;
  std::vector<const LayoutRow*> rows;
  const auto add = [&](Layout one, double min_bits, double max_bits) {
    const LayoutRow* row = FindLayout(one, Hash::kMurmurHash2);
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
  // Written so that NaN fails.
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
    // The table of classic ends where its rate does not fall any further.
    if (high.millibits == kMaxMillibits) {
      return MillibitsForRate(row, keys, 1.1 * high.rate);
    }
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
  static const auto& classic = *new LayoutCurve(MakeCurve(Layout::kClassic));
  static const auto& local = *new LayoutCurve(MakeCurve(Layout::kLocal));
  static const auto& compact = *new LayoutCurve(MakeCurve(Layout::kCompact));
  static const auto& automatic = *new LayoutCurve(MakeCurve(Layout::kAuto));
  switch (layout) {
    case Layout::kClassic:
      return classic;
    case Layout::kLocal:
      return local;
    case Layout::kCompact:
      return compact;
    case Layout::kAuto:
      break;
  }
  return automatic;
}

}  // namespace deltabloom::internal
