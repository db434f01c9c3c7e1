// The rates of the layouts, for those who spread bits over sorted runs.
#ifndef DELTABLOOM_UTIL_RATES_RATE_CURVES_H_
#define DELTABLOOM_UTIL_RATES_RATE_CURVES_H_

#include <vector>

#include "util/layouts/layout.h"
#include "util/rates/allocation.h"

namespace deltabloom::internal {

// All probes of classic come from one hash of 32 bits: with more bits per key
// than this its rate falls behind that of the other layouts by far.
inline constexpr double kMaxClassicBits = 15;

// The curve of a layout and, by option of the curve, the row that has it.
struct LayoutCurve {
  RateCurve curve;
  std::vector<const LayoutRow*> rows;
};

// local and compact are used at any bits per key, classic up to
// kMaxClassicBits, from where on the better of the others takes over, auto
// means the best of local and compact. Made once for each.
const LayoutCurve& CurveOf(Layout layout);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_UTIL_RATES_RATE_CURVES_H_
