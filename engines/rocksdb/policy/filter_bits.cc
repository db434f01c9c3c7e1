#include "engines/rocksdb/policy/filter_bits.h"

#include <algorithm>

#include "engines/rocksdb/policy/options.h"
#include "util/rates/layout_rates.h"

namespace deltabloom::internal {
namespace {

// With less a filter lets through two absent keys in five and more.
constexpr uint32_t kLeastLoweredMillibits = 2000;

// The most bits, at most `most`, whose payload has at most payload_limit bytes;
// 0 if those are fewer than pay.
uint32_t MillibitsWithin(uint64_t payload_limit, const LayoutRow& layout,
                         uint64_t keys, uint32_t most) {
  const auto fits = [&](uint32_t millibits) {
    return PlanFilter(&layout, keys, millibits).payload_size <= payload_limit;
  };
  uint32_t low = std::min(kLeastLoweredMillibits, most);
  if (!fits(low)) return 0;
  uint32_t high = most + 1;
  while (high - low > 1) {
    const uint32_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace

FilterBits BitsFor(const BitsAsked& asked, const LayoutRow& layout,
                   uint64_t keys, uint64_t framing_size) {
  FilterBits bits{asked.millibits_per_key, false, false};
  if (asked.false_positive_rate != 0) {
    const MillibitsAndRate found =
        MillibitsForRate(&layout, keys, asked.false_positive_rate);
    bits.millibits_per_key = std::max(found.millibits, kMinMillibitsPerKey);
    bits.rate_missed = found.rate > asked.false_positive_rate;
  }
  if (asked.max_filter_bytes == kUnlimited) return bits;
  const uint64_t payload_limit =
      asked.max_filter_bytes - std::min(asked.max_filter_bytes, framing_size);
  const uint32_t within =
      MillibitsWithin(payload_limit, layout, keys, bits.millibits_per_key);
  bits.lowered = within < bits.millibits_per_key;
  bits.millibits_per_key = within;
  return bits;
}

}  // namespace deltabloom::internal
