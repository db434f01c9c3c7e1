#include "util/layouts/compact/estimate.h"

#include <algorithm>
#include <cmath>

#include "util/layouts/compact/shape.h"

namespace deltabloom::internal::compact {

FilterEstimate EstimateFilter(const ParsedFilter& parsed) {
  const Shape& shape = parsed.shape.As<Shape>();
  const auto blocks = static_cast<double>(shape.blocks());
  // SizesFor() the other way round, from the middle of the last block.
  constexpr double kSpareRows = 14;
  constexpr double kRowsPerKey = 1.01;
  const double rows = (blocks - 0.5) * kBlockRows;
  FilterEstimate estimate;
  estimate.keys = std::max(1.0, (rows - kSpareRows) / kRowsPerKey);
  // A key that starts in a narrow block has one bit of fingerprint less; none
  // starts in the last block.
  const double narrow =
      std::min(1.0, static_cast<double>(shape.narrow) / (blocks - 1));
  estimate.rate = std::exp2(-static_cast<double>(shape.columns)) * (1 + narrow);
  return estimate;
}

}  // namespace deltabloom::internal::compact
