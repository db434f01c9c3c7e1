#include "deltabloom/sizing.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "deltabloom/filter.h"
#include "util/layouts/layout.h"
#include "util/rates/allocation.h"
#include "util/rates/layout_rates.h"
#include "util/rates/rates.h"

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

namespace deltabloom {
namespace {

constexpr double kLn2 = 0.693147180559945309417;

// The limits of a classic filter (docs/format.md, chapter "Classic").
constexpr double kMinBits = 64;
constexpr double kMaxBits = 4294967296;  // 2^32
constexpr double kMaxProbes = 30;

// The size for this number of probes, or for the nearest that is legal.
BloomSize SizeForProbes(uint64_t keys, double rate, double probes) {
  const double k = std::clamp(probes, 1.0, kMaxProbes);
  const double bits =
      std::ceil(internal::BloomBits(static_cast<double>(keys), rate, k));
  return {static_cast<uint64_t>(std::clamp(bits, kMinBits, kMaxBits)),
          static_cast<uint32_t>(k)};
}

}  // namespace

double BitsPerKeyForRate(double rate) {
  if (rate <= 0) return HUGE_VAL;
  if (rate >= 1) return 0;
  return -std::log(rate) / (kLn2 * kLn2);
}

double RateForBitsPerKey(double bits_per_key) {
  if (bits_per_key <= 0) return 1;
  return std::exp(-bits_per_key * kLn2 * kLn2);
}

double BestProbes(double bits_per_key) {
  return bits_per_key <= 0 ? 0 : bits_per_key * kLn2;
}

double FalsePositiveRate(uint64_t bits, uint64_t keys, uint32_t probes) {
  if (bits == 0 || probes == 0) return 1;
  return internal::BloomRate(static_cast<double>(bits),
                             static_cast<double>(keys), probes);
}

double FalsePositiveRateFinite(uint64_t bits, uint64_t keys, uint32_t probes) {
  if (bits == 0 || probes == 0) return 1;
  if (keys == 0) return 0;  // 0 * log(0) when bits is 1
  return internal::BloomRateFinite(static_cast<double>(bits),
                                   static_cast<double>(keys), probes);
}

BloomSize SizeForRate(uint64_t keys, double rate) {
  if (rate >= 1) return {static_cast<uint64_t>(kMinBits), 1};
  if (!(rate > 0)) {
    return {static_cast<uint64_t>(kMaxBits), static_cast<uint32_t>(kMaxProbes)};
  }
  const double best = -std::log2(rate);
  const BloomSize fewer = SizeForProbes(keys, rate, std::floor(best));
  const BloomSize more = SizeForProbes(keys, rate, std::ceil(best));
  const BloomSize size = fewer.bits <= more.bits ? fewer : more;
  if (static_cast<double>(size.bits) < kMaxBits) return size;
  // Out of bits: the probes that make the most of them.
  const double probes =
      std::round(BestProbes(kMaxBits / static_cast<double>(keys)));
  return {size.bits,
          static_cast<uint32_t>(std::clamp(probes, 1.0, kMaxProbes))};
}

uint64_t KeysForRate(const BloomSize& size, double rate) {
  if (rate >= 1) return UINT64_MAX;
  if (!(rate > 0) || size.bits == 0 || size.probes == 0) return 0;
  // The factor makes up for rounding in the last digits, so that a size made
  // for n keys holds n.
  const double keys =
      internal::BloomKeys(static_cast<double>(size.bits), rate, size.probes) *
      (1 + 1e-12);
  return keys >= 18446744073709551615.0 ? UINT64_MAX
                                        : static_cast<uint64_t>(keys);
}

double RateForBitsPerKey(Layout layout, double bits_per_key, uint64_t keys) {
  const internal::LayoutRow* row = internal::FindLayout(layout);
  if (row == nullptr || !internal::ValidBitsPerKey(bits_per_key)) {
    return std::nan("");
  }
  return internal::RateForMillibits(row, keys,
                                    internal::ToMillibits(bits_per_key));
}

double BitsPerKeyForRate(Layout layout, double rate, uint64_t keys) {
  const internal::LayoutRow* row = internal::FindLayout(layout);
  if (row == nullptr || std::isnan(rate)) return std::nan("");
  if (rate <= 0) return HUGE_VAL;
  const internal::MillibitsAndRate found =
      internal::MillibitsForRate(row, keys, rate);
  return found.rate > rate ? HUGE_VAL : found.millibits / 1000.0;
}

}  // namespace deltabloom
