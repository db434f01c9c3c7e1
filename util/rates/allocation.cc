#include "util/rates/allocation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "util/layouts/layout.h"

namespace deltabloom::internal {
namespace {

// Prices are searched as binary logarithms. The search ends beyond this and its
// negative, where powers of two near the limits of type double.
constexpr double kMostLogPrice = 1000;

// PriceOfBits() finds the binary logarithm of a price to this. With a Bloom
// filter, whose bits change most with the price, that is 0.00014 bits per key,
// less than the thousandths in which bits are given.
constexpr double kPricePrecision = 1e-4;

// AllocateBits() looks for the step of the hull at which the budget ends, so
// its two prices must not have another step between them. Slopes of
// neighbouring sides either differ by a larger factor than 2^(10^-10), or by so
// little that it does not matter which of them gets the bits.
constexpr double kStepPrecision = 1e-10;

// AllocateForRates() finds bits per key to half of the thousandths in which
// bits are given.
constexpr double kBitsPrecision = 0.0005;

// The bits at which rates are sampled: 32 times per bit where filters are, so
// that neighbouring rates differ by 2 %, and ever more coarsely beyond 32 bits,
// which no run of a tree gets.
std::vector<double> Grid() {
  std::vector<double> grid;
  for (double bits = kMinBitsPerKey; bits < kMaxBitsPerKey;
       bits += bits < 32   ? 1.0 / 32
               : bits < 64 ? 0.125
                           : bits / 8) {
    grid.push_back(bits);
  }
  grid.push_back(kMaxBitsPerKey);
  return grid;
}

bool Counts(const SortedRun& run) {
  return run.keys > 0 && run.weight > 0 && std::isfinite(run.keys) &&
         std::isfinite(run.weight);
}

const RateCurve& CurveOfRun(const RateCurve& curve, const SortedRun& run) {
  return run.curve == nullptr ? curve : *run.curve;
}

using BitsAt = double (RateCurve::*)(double slope) const;

double BitsOfRun(const RateCurve& curve, BitsAt bits_at, const SortedRun& run,
                 double price) {
  if (!Counts(run)) return 0;
  return std::max(run.min_bits, (CurveOfRun(curve, run).*
                                 bits_at)(price * (run.keys / run.weight)));
}

// Returns the bits of all keys at a price.
double TotalAt(const RateCurve& curve, BitsAt bits_at,
               const std::vector<SortedRun>& runs, double price) {
  double total = 0;
  for (const SortedRun& run : runs) {
    if (Counts(run)) total += BitsOfRun(curve, bits_at, run, price) * run.keys;
  }
  return total;
}

// The bits that all keys together, and the keys of each run, buy at a price.
struct Purchase {
  Purchase(const RateCurve& curve, BitsAt bits_at,
           const std::vector<SortedRun>& runs, double price)
      : total(TotalAt(curve, bits_at, runs, price)) {
    for (const SortedRun& run : runs) {
      bits.push_back(BitsOfRun(curve, bits_at, run, price));
    }
  }
  std::vector<double> bits;
  double total;
};

double KeysOf(const std::vector<SortedRun>& runs) {
  double keys = 0;
  for (const SortedRun& run : runs) keys += Counts(run) ? run.keys : 0;
  return keys;
}

Allocation Allocate(const RateCurve& curve, const std::vector<SortedRun>& runs,
                    const std::vector<double>& bits) {
  Allocation allocation;
  allocation.runs.resize(runs.size());
  for (size_t i = 0; i < runs.size(); ++i) {
    if (!Counts(runs[i])) continue;
    const RunBits given = CurveOfRun(curve, runs[i]).At(bits[i]);
    allocation.runs[i] = given;
    allocation.keys += runs[i].keys;
    allocation.bits += runs[i].keys * given.bits_per_key;
    allocation.rates += runs[i].weight * given.rate;
  }
  return allocation;
}

struct Prices {
  double low;
  double high;
};

// Two prices whose binary logarithms differ by at most `precision`, between
// which `budget` bits of all keys are spent: more at the low one, at most these
// at the high one. Both 0 if the budget pays for all useful bits, both infinite
// without a budget or without keys.
Prices PricesAround(const RateCurve& curve, BitsAt bits_at,
                    const std::vector<SortedRun>& runs, double budget,
                    double precision) {
  const double infinity = std::numeric_limits<double>::infinity();
  if (!(budget > 0)) return {infinity, infinity};
  const auto affordable = [&](double price) {
    return TotalAt(curve, bits_at, runs, price) <= budget;
  };
  if (affordable(0)) return {0, 0};
  // Prices are binary logarithms, as they span hundreds of powers of two. The
  // search starts from about what all keys would pay in one run.
  const double keys = KeysOf(runs);
  double low = std::clamp(-budget / keys - std::log2(keys), -kMostLogPrice,
                          kMostLogPrice);
  double high = low;
  for (double step = 1; low > -kMostLogPrice && affordable(std::exp2(low));
       step *= 2) {
    high = std::exchange(low, low - step);
  }
  for (double step = 1; high < kMostLogPrice && !affordable(std::exp2(high));
       step *= 2) {
    low = std::exchange(high, high + step);
  }
  while (high - low > precision) {
    const double middle = (low + high) / 2;
    (affordable(std::exp2(middle)) ? high : low) = middle;
  }
  return {std::exp2(low), std::exp2(high)};
}

}  // namespace

RateCurve::RateCurve(std::vector<RateOption> options)
    : options_(std::move(options)) {
  hull_.push_back({0, 1, std::numeric_limits<double>::infinity()});
  for (const double bits : Grid()) {
    const double rate = At(bits).rate;
    if (!(rate < hull_.back().rate)) continue;
    // Andrew's monotone chain: a vertex that lies above the line from the one
    // before it to the new point is removed.
    const auto slope = [&] {
      return std::log2((hull_.back().rate - rate) / (bits - hull_.back().bits));
    };
    while (slope() >= hull_.back().slope) hull_.pop_back();
    hull_.push_back({bits, rate, slope()});
  }
}

RunBits RateCurve::At(double bits_per_key) const {
  RunBits best;
  if (!(bits_per_key >= kMinBitsPerKey)) return best;
  const double bits = std::min(bits_per_key, kMaxBitsPerKey);
  best.bits_per_key = bits;
  for (size_t i = 0; i < options_.size(); ++i) {
    const RateOption& option = options_[i];
    if (!(bits >= option.min_bits && bits <= option.max_bits)) continue;
    const double rate = std::max(option.rate(bits), 0.0);
    if (rate < best.rate) {
      best.rate = rate;
      best.option = i;
    }
  }
  // No option takes these bits, or they gain nothing.
  if (best.rate >= 1) best.bits_per_key = 0;
  return best;
}

size_t RateCurve::VertexAtSlope(double log_slope) const {
  const auto after = std::partition_point(
      hull_.begin() + 1, hull_.end(),
      [log_slope](const Vertex& vertex) { return vertex.slope > log_slope; });
  return static_cast<size_t>(after - hull_.begin()) - 1;
}

double RateCurve::BestBitsAtSlope(double slope) const {
  if (std::isnan(slope)) return 0;
  return hull_[VertexAtSlope(std::log2(std::max(slope, 0.0)))].bits;
}

double RateCurve::BitsAtSlope(double slope) const {
  const double middle = std::log2(slope);
  const double flattest = middle - 0.5;
  double from = middle + 0.5;
  // No mean is taken if there is no filter at one end of the octave, or nothing
  // more to gain at the other.
  if (hull_.size() == 1 || !(from < hull_[1].slope) ||
      !(flattest > hull_.back().slope)) {
    return BestBitsAtSlope(slope);
  }
  double sum = 0;
  size_t i = VertexAtSlope(from);
  // These bits are the best down to the slope of the side after the vertex.
  for (; i + 1 < hull_.size() && hull_[i + 1].slope > flattest; ++i) {
    sum += hull_[i].bits * (from - hull_[i + 1].slope);
    from = hull_[i + 1].slope;
  }
  return sum + hull_[i].bits * (from - flattest);
}

double BitsAtPrice(const RateCurve& curve, const SortedRun& run, double price) {
  return BitsOfRun(curve, &RateCurve::BitsAtSlope, run, price);
}

double PriceOfBits(const RateCurve& curve, const std::vector<SortedRun>& runs,
                   double bits_per_key) {
  return PricesAround(curve, &RateCurve::BitsAtSlope, runs,
                      bits_per_key * KeysOf(runs), kPricePrecision)
      .high;
}

Allocation AllocateBits(const RateCurve& curve,
                        const std::vector<SortedRun>& runs,
                        double bits_per_key) {
  const double budget = std::min(bits_per_key, kMaxBitsPerKey) * KeysOf(runs);
  constexpr BitsAt kBest = &RateCurve::BestBitsAtSlope;
  const Prices prices =
      PricesAround(curve, kBest, runs, budget, kStepPrecision);
  Purchase given(curve, kBest, runs, prices.high);
  // The rest goes towards what the next lower price would buy; where no price
  // buys more, to all runs alike.
  Purchase next(curve, kBest, runs, prices.low);
  if (prices.high == 0) {
    next.bits.assign(runs.size(), kMaxBitsPerKey);
    next.total = kMaxBitsPerKey * KeysOf(runs);
  }
  if (next.total > given.total && budget > given.total) {
    const double share =
        std::min((budget - given.total) / (next.total - given.total), 1.0);
    for (size_t i = 0; i < runs.size(); ++i) {
      given.bits[i] += share * (next.bits[i] - given.bits[i]);
    }
  }
  return Allocate(curve, runs, given.bits);
}

Allocation UniformBits(const RateCurve& curve,
                       const std::vector<SortedRun>& runs,
                       double bits_per_key) {
  return Allocate(curve, runs, std::vector<double>(runs.size(), bits_per_key));
}

Allocation AllocateForRates(const RateCurve& curve,
                            const std::vector<SortedRun>& runs, double rates) {
  const Allocation none = UniformBits(curve, runs, 0);
  if (!(none.rates > rates) || KeysOf(runs) == 0) return none;
  // On the hull, more bits never have a higher sum of rates. A budget is spent
  // on the hull, except for its last step.
  double low = 0;
  double high = 0;
  for (const SortedRun& run : runs) {
    high = std::max(high, CurveOfRun(curve, run).MostUsefulBits());
  }
  const Allocation most = AllocateBits(curve, runs, high);
  if (most.rates > rates) return most;
  while (high - low > kBitsPrecision) {
    const double middle = (low + high) / 2;
    (AllocateBits(curve, runs, middle).rates <= rates ? high : low) = middle;
  }
  return AllocateBits(curve, runs, high);
}

}  // namespace deltabloom::internal
