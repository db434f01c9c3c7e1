#include "db_bench_ext/levels/allocation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace deltabloom::levels {
namespace {

// The corners of the largest convex function that is nowhere above the curve,
// drawn finely enough that the line between two points is as good as the curve.
std::vector<CurvePoint> Hull(const std::vector<CurvePoint>& curve) {
  constexpr double kStep = 0.05;
  std::vector<CurvePoint> hull;
  for (double bits = 0; bits <= curve.back().bits_per_key; bits += kStep) {
    const CurvePoint point{bits, RateAt(curve, bits)};
    while (hull.size() >= 2) {
      const CurvePoint& a = hull[hull.size() - 2];
      const CurvePoint& b = hull.back();
      const double to_b = (b.rate - a.rate) / (b.bits_per_key - a.bits_per_key);
      const double to_point =
          (point.rate - a.rate) / (point.bits_per_key - a.bits_per_key);
      if (to_b < to_point) break;
      hull.pop_back();
    }
    hull.push_back(point);
  }
  return hull;
}

struct Piece {
  size_t run;
  double bits_per_key;
  double gain_per_bit;
};

}  // namespace

double RateAt(const std::vector<CurvePoint>& curve, double bits_per_key) {
  const auto above = std::upper_bound(
      curve.begin(), curve.end(), bits_per_key,
      [](double bits, const CurvePoint& p) { return bits < p.bits_per_key; });
  if (above == curve.begin()) return 1;
  if (above == curve.end()) return curve.back().rate;
  const CurvePoint& below = *(above - 1);
  const double share = (bits_per_key - below.bits_per_key) /
                       (above->bits_per_key - below.bits_per_key);
  return below.rate * std::pow(above->rate / below.rate, share);
}

std::vector<double> BestBitsPerKey(const std::vector<AllocationRun>& runs,
                                   double bits) {
  std::vector<Piece> pieces;
  for (size_t run = 0; run < runs.size(); ++run) {
    const std::vector<CurvePoint> hull = Hull(*runs[run].curve);
    for (size_t i = 1; i < hull.size(); ++i) {
      const double size = hull[i].bits_per_key - hull[i - 1].bits_per_key;
      const double gain = hull[i - 1].rate - hull[i].rate;
      pieces.push_back(
          {run, size, runs[run].share * gain / (size * runs[run].keys)});
    }
  }
  // Within a run gains only fall, so that its pieces stay in order.
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const Piece& a, const Piece& b) {
                     return a.gain_per_bit > b.gain_per_bit;
                   });
  std::vector<double> bits_per_key(runs.size(), 0);
  for (const Piece& piece : pieces) {
    const double keys = runs[piece.run].keys;
    const double take = std::min(piece.bits_per_key * keys, bits);
    bits_per_key[piece.run] += take / keys;
    bits -= take;
    if (bits <= 0) break;
  }
  return bits_per_key;
}

}  // namespace deltabloom::levels
