#include "util/classic/rate.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "util/classic/shape.h"
#include "util/false_positive.h"

namespace deltabloom::internal::classic {
namespace {

constexpr size_t kKeys = std::size(kMeasuredKeys);
constexpr size_t kProbes = std::size(kMeasuredProbes);

// `script/study classic`: the measured rate, of the worst of twelve sizes, as a
// multiple of RateWithoutExcess.
constexpr double kExcess[kKeys][kProbes] = {
    {1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000,
     1.000, 1.000, 1.000, 1.000, 1.000},
    {1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000,
     1.000, 1.000, 1.000, 1.000, 1.000},
    {1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000,
     1.000, 1.000, 1.000, 1.000, 1.000},
    {1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000,
     1.000, 1.000, 1.000, 1.000, 1.000},
    {1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000,
     1.000, 1.000, 1.000, 1.000, 1.000},
    {1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000,
     1.000, 1.000, 1.000, 1.000, 1.000},
    {1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000,
     1.000, 1.000, 1.000, 1.000, 1.000},
    {1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000,
     1.000, 1.000, 1.000, 1.000, 1.000},
    {1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000,
     1.000, 1.000, 1.000, 1.000, 1.000},
    {1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000,
     1.000, 1.000, 1.000, 1.000, 1.000},
    {1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000,
     1.000, 1.000, 1.000, 1.000, 1.000},
    {1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000,
     1.000, 1.000, 1.000, 1.000, 1.000},
    {1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000,
     1.000, 1.000, 1.000, 1.000, 1.000},
    {1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000,
     1.000, 1.000, 1.000, 1.000, 1.000},
    {1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000,
     1.000, 1.000, 1.000, 1.000, 1.000},
};

// The row at or before `value`, but the last, and how far behind it `value` is
// on the way to the next, 0 to 1; the ends beyond them.
struct Place {
  size_t row;
  double way;
};

template <typename T, size_t kSize, typename Scale>
Place PlaceOf(const T (&at)[kSize], T value, Scale scale) {
  if (value <= at[0]) return {0, 0};
  if (value >= at[kSize - 1]) return {kSize - 2, 1};
  const auto row =
      static_cast<size_t>(std::upper_bound(at, at + kSize, value) - at - 1);
  return {row, (scale(value) - scale(at[row])) /
                   (scale(at[row + 1]) - scale(at[row]))};
}

// Between what was measured, geometrically.
double Excess(uint64_t keys, uint32_t probes) {
  const Place of_keys = PlaceOf(kMeasuredKeys, keys, [](uint64_t n) {
    return std::log(static_cast<double>(n));
  });
  const Place of_probes = PlaceOf(kMeasuredProbes, probes, [](uint32_t k) {
    return static_cast<double>(k);
  });
  const auto between = [&](size_t row) {
    const double* excess = kExcess[row] + of_probes.row;
    return std::log(excess[0]) * (1 - of_probes.way) +
           std::log(excess[1]) * of_probes.way;
  };
  return std::exp(between(of_keys.row) * (1 - of_keys.way) +
                  between(of_keys.row + 1) * of_keys.way);
}

}  // namespace

double RateWithoutExcess(const AnyShape& any_shape, uint64_t key_count) {
  const Shape& shape = any_shape.As<Shape>();
  const auto keys = static_cast<double>(key_count);
  const double by_bits =
      BloomRateFinite(static_cast<double>(shape.bits), keys, shape.probes);
  return by_bits + (1 - by_bits) * HashCollisionRate(keys, 32);
}

double Rate(const AnyShape& any_shape, uint64_t keys) {
  const Shape& shape = any_shape.As<Shape>();
  const double plain = RateWithoutExcess(any_shape, keys);
  // One probe depends on nothing.
  if (shape.probes < kMeasuredProbes[0]) return plain;
  return std::min(1.0, plain * Excess(keys, shape.probes));
}

}  // namespace deltabloom::internal::classic
