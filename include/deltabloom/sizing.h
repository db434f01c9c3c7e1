// The size of a filter for a false-positive rate, and the rate for a size. The
// functions with a layout compute them for the filters that are built, those
// without for a Bloom filter of n keys in m bits whose k probes are independent
// (Broder and Mitzenmacher, "Network Applications of Bloom Filters: A Survey",
// 2004); those of a classic filter are not, so its rate is higher. Layout kAuto
// counts as kCompact.
//
// All functions are thread-safe and accept any number. NaN gives NaN; rates
// outside of (0, 1) and sizes of 0 give the limits named here, never an error.
#ifndef DELTABLOOM_SIZING_H_
#define DELTABLOOM_SIZING_H_

#include <cstdint>

#include "deltabloom/export.h"
#include "deltabloom/filter.h"

namespace deltabloom {

// m/n = -ln p / ln^2 2: 9.585 for 0.01. Infinite for rates of 0 or less, 0 for
// 1 or more.
DELTABLOOM_EXPORT double BitsPerKeyForRate(double rate);

// p = e^(-m/n ln^2 2) = 0.6185^(m/n), the inverse: 0.0082 for 10. 1 for 0 or
// less.
DELTABLOOM_EXPORT double RateForBitsPerKey(double bits_per_key);

// k = m/n ln 2, not rounded: 6.93 for 10. 0 for 0 or less.
DELTABLOOM_EXPORT double BestProbes(double bits_per_key);

// (1 - e^(-kn/m))^k: the rate of a large filter. 1 without bits or without
// probes, as every key matches; otherwise 0 without keys.
DELTABLOOM_EXPORT double FalsePositiveRate(uint64_t bits, uint64_t keys,
                                           uint32_t probes);

// (1 - (1 - 1/m)^(kn))^k: the same for an array of exactly m bits, higher by a
// share of order 1/m. The same limits.
DELTABLOOM_EXPORT double FalsePositiveRateFinite(uint64_t bits, uint64_t keys,
                                                 uint32_t probes);

// A filter with whole bits and whole probes.
struct BloomSize {
  uint64_t bits;
  uint32_t probes;
};

// The smallest size at which `keys` keys have a FalsePositiveRate of at most
// `rate`, clamped to what a classic filter can have: 64 to 2^32 bits, 1 to 30
// probes. Rates of 1 or more give the smallest filter; rates of 0 or less, and
// NaN, the largest.
DELTABLOOM_EXPORT BloomSize SizeForRate(uint64_t keys, double rate);

// The largest number of keys that a filter of this size holds at `rate` or
// less, rounded down: the inverse of SizeForRate. 0 without bits or probes, for
// rates of 0 or less, and for NaN; UINT64_MAX for 1 or more.
DELTABLOOM_EXPORT uint64_t KeysForRate(const BloomSize& size, double rate);

// The expected false-positive rate of a filter that FilterBuilder makes of
// `keys` keys at `bits_per_key`: exact for local and compact, theory times a
// measured excess for classic. 0 without keys, NaN for NaN, for less than 0 and
// more than 1000 bits per key and for an unknown layout.
DELTABLOOM_EXPORT double RateForBitsPerKey(Layout layout, double bits_per_key,
                                           uint64_t keys);

// The fewest bits per key, up to a thousandth of them more, with which that
// rate is at most `rate`. Infinite where 1000 bits per key do not reach it: for
// rates of 0, and with layout classic for less than some keys / 2^32. 0 for
// rates of 1 or more.
DELTABLOOM_EXPORT double BitsPerKeyForRate(Layout layout, double rate,
                                           uint64_t keys);

}  // namespace deltabloom

#endif  // DELTABLOOM_SIZING_H_
