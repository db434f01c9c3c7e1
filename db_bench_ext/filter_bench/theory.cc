#include "db_bench_ext/filter_bench/theory.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "util/rates/false_positive.h"

namespace deltabloom::bench {
namespace {

// Either of two independent events.
double Either(double a, double b) { return a + b - a * b; }

// Ribbon keeps each answer in `upper` columns of bits, or one less: the first
// blocks of 128 rows have the smaller number, and the stored size tells where
// they end.
double RibbonRate(const rocksdb::Slice& filter, double blocks) {
  constexpr double kRowsPerBlock = 128;
  constexpr double kColumnBytes = 16;
  const double columns =
      std::floor(static_cast<double>(filter.size() - 5) / kColumnBytes);
  const double upper = std::ceil(columns / blocks);
  const double lower_blocks = upper * blocks - columns;
  const double starts = blocks * kRowsPerBlock - (kRowsPerBlock - 1);
  const double lower =
      std::min(1.0, lower_blocks * kRowsPerBlock / std::max(1.0, starts));
  return lower * std::exp2(1 - upper) + (1 - lower) * std::exp2(-upper);
}

// How likely a block has so many keys.
struct InBlock {
  double keys;
  double share;
};

// Poisson distributed, but for tails of no weight.
std::vector<InBlock> KeysInBlock(double mean) {
  const double spread = 12 * std::sqrt(mean) + 12;
  std::vector<InBlock> distribution;
  for (double keys = std::max(0.0, std::floor(mean - spread));
       keys <= mean + spread; ++keys) {
    distribution.push_back(
        {keys, std::exp(keys * std::log(mean) - mean - std::lgamma(keys + 1))});
  }
  return distribution;
}

}  // namespace

double BloomRate(double bits, double probes, double keys, unsigned hash_bits) {
  return Either(internal::BloomRateFinite(bits, keys, probes),
                internal::HashCollisionRate(keys, hash_bits));
}

double BlockedBloomRate(double blocks, double block_bits, double probes,
                        double keys, unsigned hash_bits) {
  double rate = 0;
  for (const InBlock& in_block : KeysInBlock(keys / blocks)) {
    rate += in_block.share *
            internal::BloomRateFinite(block_bits, in_block.keys, probes);
  }
  return Either(rate, internal::HashCollisionRate(keys, hash_bits));
}

std::optional<double> RocksDBRate(const rocksdb::Slice& filter, uint64_t keys) {
  if (filter.size() <= 5) return std::nullopt;
  const auto* tail = reinterpret_cast<const unsigned char*>(filter.data()) +
                     (filter.size() - 5);
  const auto key_count = static_cast<double>(keys);
  if (tail[0] == 0xff && tail[1] == 0) {
    const double blocks = static_cast<double>(filter.size() - 5) / 64;
    return BlockedBloomRate(blocks, 512, tail[2] & 31, key_count, 64);
  }
  if (tail[0] == 0xfe) {
    const auto blocks = static_cast<double>(
        uint32_t{tail[2]} | uint32_t{tail[3]} << 8 | uint32_t{tail[4]} << 16);
    if (blocks < 2) return std::nullopt;
    return Either(RibbonRate(filter, blocks),
                  internal::HashCollisionRate(key_count, 64));
  }
  return std::nullopt;
}

double BinomialError(double rate, uint64_t samples) {
  if (samples == 0) return 1;
  return std::sqrt(rate * (1 - rate) / static_cast<double>(samples));
}

}  // namespace deltabloom::bench
