#include "deltabloom/sizing.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "deltabloom/filter.h"
#include "util/layouts/layout.h"
#include "util/rates/layout_rates.h"
#include "util/rates/rates.h"

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
