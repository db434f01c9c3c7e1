// The mathematics of false positives. Sizes are real numbers here: clamps and
// whole bits belong to those who plan a filter (deltabloom/sizing.h).
//
// m bits, n keys, k probes. All assume that every probe of every key falls on
// any bit with equal chance, independent of the others.
#ifndef DELTABLOOM_UTIL_RATES_FALSE_POSITIVE_H_
#define DELTABLOOM_UTIL_RATES_FALSE_POSITIVE_H_

namespace deltabloom::internal {

// (1 - e^(-k n / m))^k. Bloom (Communications of the ACM 13(7), 1970) in the
// form of Broder and Mitzenmacher (Internet Mathematics 1(4), 2004, section
// 2.1).
double BloomRate(double m, double n, double k);

// (1 - (1 - 1/m)^(k n))^k, the chance that k probes meet the expected share of
// set bits in an array of finite size; the limit above is a little lower.
// Precise also where 1/m or the result is tiny.
double BloomRateFinite(double m, double n, double k);

// The m at which BloomRate(m, n, k) = rate: -k n / ln(1 - rate^(1/k)).
double BloomBits(double n, double rate, double k);

// The n at which BloomRate(m, n, k) = rate: -m ln(1 - rate^(1/k)) / k.
double BloomKeys(double m, double rate, double k);

// The number of keys that explains `set_bits` set bits of m:
// -m/k ln(1 - set_bits/m) (Swamidass and Baldi, Journal of Chemical
// Information and Modeling 47(3), 2007). Infinite when all bits are set.
double KeysFromSetBits(double m, double set_bits, double k);

// The chance that a key shares its hash of `hash_bits` bits with at least one
// of n others: 1 - (1 - 2^-hash_bits)^n. No filter of such hashes has a lower
// rate.
double HashCollisionRate(double n, unsigned hash_bits);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_UTIL_RATES_FALSE_POSITIVE_H_
