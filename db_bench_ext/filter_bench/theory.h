// False-positive rates of Bloom filters and of RocksDB's filters from their
// mathematics. Those of local and compact: LayoutRow::rate.
#ifndef DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_THEORY_H_
#define DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_THEORY_H_

#include <cstdint>
#include <optional>

#include "rocksdb/slice.h"

namespace deltabloom::bench {

// A Bloom filter of `bits` bits and `probes` independent probes, with a hash of
// `hash_bits` bits: (1 - (1 - 1/bits)^(keys * probes))^probes, and the chance
// that a key shares its whole hash with one of the keys.
double BloomRate(double bits, double probes, double keys, unsigned hash_bits);

// A Bloom filter in which all probes of a key fall into one of `blocks` blocks
// of `block_bits` bits: the keys per block are Poisson distributed.
double BlockedBloomRate(double blocks, double block_bits, double probes,
                        double keys, unsigned hash_bits);

// The filters of RocksDB, told apart by their last five bytes; nothing if they
// are of another kind.
std::optional<double> RocksDBRate(const rocksdb::Slice& filter, uint64_t keys);

// The standard deviation of a rate measured as `rate` in `samples` trials.
double BinomialError(double rate, uint64_t samples);

}  // namespace deltabloom::bench

#endif  // DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_THEORY_H_
