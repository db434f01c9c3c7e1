// Every formula of false positives, and where it comes from. Sizes are real
// numbers here; clamps and whole bits belong to what plans a filter.
//
// util/rates/layout_rates.h has the rates of filters as they are planned.
//
// m bits, n keys, k probes. Unless stated otherwise, every probe of every key
// is assumed to fall on any bit with equal chance, independent of the others.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace deltabloom::internal {

// Returns (1 - e^(-k n / m))^k. Bloom (Communications of the ACM 13(7), 1970)
// in the form of Broder and Mitzenmacher (Internet Mathematics 1(4), 2004,
// section 2.1).
double BloomRate(double m, double n, double k);

// Returns (1 - (1 - 1/m)^(k n))^k, the chance that k probes meet the expected
// share of set bits in an array of finite size; BloomRate() is a little lower.
// Precise also where 1/m or the result is tiny.
double BloomRateFinite(double m, double n, double k);

// Returns BloomRateFinite with a hash of `hash_bits` bits, which a key may
// share with one of the n.
double BloomRateOfHash(double m, double n, double k, unsigned hash_bits);

// Returns the m at which BloomRate(m, n, k) = rate: -k n / ln(1 - rate^(1/k)).
double BloomBits(double n, double rate, double k);

// Returns the n at which BloomRate(m, n, k) = rate: -m ln(1 - rate^(1/k)) / k.
double BloomKeys(double m, double rate, double k);

// Returns the number of keys that explains `set_bits` set bits of m:
// -m/k ln(1 - set_bits/m) (Swamidass and Baldi, Journal of Chemical
// Information and Modeling 47(3), 2007). It is infinite when all
// bits are set.
double KeysFromSetBits(double m, double set_bits, double k);

// Returns the chance that a key shares its hash of `hash_bits` bits with at
// least one of n others: 1 - (1 - 2^-hash_bits)^n. No filter of such hashes has
// a lower rate.
double HashCollisionRate(double n, unsigned hash_bits);

// Returns the rate of a filter whose probes of a key are all in one of many
// blocks of `block_bits` bits: the keys of a block are Poisson distributed
// (Putze, Sanders, Singler: "Cache-, Hash- and Space-Efficient Bloom Filters",
// 2007), and the number of set bits varies by its second moment. Returns 0 for
// no keys.
double BlockedBloomRate(double block_bits, double keys_per_block, double k);

// Returns the rate of a filter in which a key starts in one of many blocks of
// rows, and a row keeps `columns` bits of its fingerprint, or one bit less in a
// share `narrow` of the blocks.
double RibbonRate(double columns, double narrow);

// Return the probes and the rate of RocksDB's Bloom filter since 6.6
// (format_version 5): cache lines of 512 bits and RocksDB's number of probes
// for the bits per key set (FastLocalBloomImpl::ChooseNumProbes in its
// util/bloom_impl.h). The rate is within 2 % of the measured ones in
// docs/guide.md, from 5 to 24 bits per key.
unsigned RocksDBBloomProbes(double bits_per_key);
double RocksDBBloomRate(double bits_per_key);

// Returns the rate of RocksDB's Ribbon filter by the bits that it stores per
// key: 1.045 of them for each bit of information, as was measured in filters
// that store 7.0 and 9.6 bits per key.
inline constexpr double kRocksDBRibbonBitsPerBit = 1.045;
double RocksDBRibbonRate(double stored_bits_per_key);

// Returns the rate of a filter that RocksDB itself wrote with `keys` keys, by
// its size and its last five bytes (table/block_based/filter_policy.cc there):
// 0 for an empty one and 1 for one that always matches. Returns nothing for
// other kinds.
std::optional<double> RocksDBFilterRate(std::string_view filter, uint64_t keys);

}  // namespace deltabloom::internal
