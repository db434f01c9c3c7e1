#include "util/rates/rate_curves.h"

#include <cstdint>
#include <utility>

#include "deltabloom/filter.h"
#include "util/rates/rate.h"

namespace deltabloom::internal {
namespace {

// Of a table of common size; only the rate of classic depends on it by much.
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
