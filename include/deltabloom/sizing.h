// The size of a filter for a false-positive rate, and the rate for a size.
//
// The functions with a layout compute them for the filters that are built. The
// functions without a layout are for a Bloom filter of n keys in m bits whose k
// probes are independent (Broder and Mitzenmacher, "Network Applications of
// Bloom Filters: A Survey", 2004). The probes of a classic filter are not, so
// its rate is higher.
//
// All functions are thread-safe and accept any number. NaN gives NaN; rates
// outside of (0, 1) and sizes of 0 give the limits named here, never an error.
#ifndef DELTABLOOM_SIZING_H_
#define DELTABLOOM_SIZING_H_

#include <cstdint>

#include "deltabloom/export.h"
#include "deltabloom/filter.h"

namespace deltabloom {

// Returns m/n = -ln p / ln^2 2 (9.585 for 0.01); infinity for rates of 0 or
// less, 0 for 1 or more.
DELTABLOOM_EXPORT double BitsPerKeyForRate(double rate);

// Returns the inverse, p = e^(-m/n ln^2 2) = 0.6185^(m/n) (0.0082 for 10); 1
// for 0 or less.
DELTABLOOM_EXPORT double RateForBitsPerKey(double bits_per_key);

// Returns k = m/n ln 2 (6.93 for 10), not rounded; 0 for 0 or less.
DELTABLOOM_EXPORT double BestProbes(double bits_per_key);

// Returns (1 - e^(-kn/m))^k, the rate of a large filter. It is 1 without bits
// or without probes, as every key matches; otherwise 0 without keys.
DELTABLOOM_EXPORT double FalsePositiveRate(uint64_t bits, uint64_t keys,
                                           uint32_t probes);

// Returns (1 - (1 - 1/m)^(kn))^k, the rate of an array of exactly m bits, which
// is higher by a share of order 1/m. The limits are those of FalsePositiveRate.
DELTABLOOM_EXPORT double FalsePositiveRateFinite(uint64_t bits, uint64_t keys,
                                                 uint32_t probes);

// A filter with whole bits and whole probes.
struct BloomSize {
  uint64_t bits;
  uint32_t probes;
};

// Returns the smallest size at which `keys` keys have a FalsePositiveRate of at
// most `rate`, clamped to what a classic filter can have: 64 to 2^32 bits, 1 to
// 30 probes. Rates of 1 or more give the smallest filter; rates of 0 or less,
// and NaN, the largest.
DELTABLOOM_EXPORT BloomSize SizeForRate(uint64_t keys, double rate);

// Returns the largest number of keys that a filter of this size holds at `rate`
// or less, the inverse of SizeForRate, rounded down: 0 without bits or probes,
// for rates of 0 or less, and for NaN; UINT64_MAX for 1 or more.
DELTABLOOM_EXPORT uint64_t KeysForRate(const BloomSize& size, double rate);

// Returns the expected false-positive rate of a filter that FilterBuilder makes
// of `keys` keys at `bits_per_key`: exact for local and compact, theory times a
// measured excess for classic. It is 0 without keys, and NaN for bits per key
// that are NaN, less than 0 or more than 1000, and for an unknown layout.
DELTABLOOM_EXPORT double RateForBitsPerKey(Layout layout, double bits_per_key,
                                           uint64_t keys);

// Returns the fewest bits per key at which the rate of the function above is at
// most `rate`, or up to a thousandth more. Returns infinity if 1000 bits per
// key are too few: for rates of 0, and with layout classic for rates below
// about keys / 2^32. Returns 0 for rates of 1 or more, and NaN for an unknown
// layout.
DELTABLOOM_EXPORT double BitsPerKeyForRate(Layout layout, double rate,
                                           uint64_t keys);

}  // namespace deltabloom

#endif  // DELTABLOOM_SIZING_H_
