#include "util/rates/rates.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace deltabloom::internal {

// RocksDB keeps the probes of a key in one cache line of 64 bytes.
constexpr double kRocksDBLineBits = 512;

// 1 - e^x and ln(1 + x) lose every digit for small x; expm1 and log1p do not.

double BloomRate(double m, double n, double k) {
  return std::pow(-std::expm1(-k * n / m), k);
}

double BloomRateFinite(double m, double n, double k) {
  return std::pow(-std::expm1(k * n * std::log1p(-1 / m)), k);
}

double BloomRateOfHash(double m, double n, double k, unsigned hash_bits) {
  const double by_bits = BloomRateFinite(m, n, k);
  const double by_hash = HashCollisionRate(n, hash_bits);
  return by_bits + by_hash - by_bits * by_hash;  // independent events
}

double BloomBits(double n, double rate, double k) {
  return -k * n / std::log1p(-std::pow(rate, 1 / k));
}

double BloomKeys(double m, double rate, double k) {
  return -m * std::log1p(-std::pow(rate, 1 / k)) / k;
}

double KeysFromSetBits(double m, double set_bits, double k) {
  return -m / k * std::log1p(-set_bits / m);
}

double HashCollisionRate(double n, unsigned hash_bits) {
  return -std::expm1(
      n * std::log1p(-std::ldexp(1.0, -static_cast<int>(hash_bits))));
}

double BlockedBloomRate(double block_bits, double keys_per_block, double k) {
  if (!(keys_per_block > 0)) return 0;
  // A block has more or fewer keys than these with a chance below 10^-30: they
  // are 12 standard deviations, and 60 more for small means.
  const double spread = 12 * std::sqrt(keys_per_block) + 60;
  double rate = 0;
  for (double n = std::max(1.0, std::floor(keys_per_block - spread));
       n < keys_per_block + spread; ++n) {
    const double chance = std::exp(n * std::log(keys_per_block) -
                                   keys_per_block - std::lgamma(n + 1));
    // The chances that all probes of n keys leave a bit, and two bits, clear.
    const double clear = std::pow(1 - 1 / block_bits, k * n);
    const double both = std::pow(1 - 2 / block_bits, k * n);
    const double set = 1 - clear;
    const double variance = both - clear * clear + (clear - both) / block_bits;
    rate += chance * (std::pow(set, k) +
                      k * (k - 1) / 2 * std::pow(set, k - 2) * variance);
  }
  return std::min(rate, 1.0);
}

double RibbonRate(double columns, double narrow) {
  return std::exp2(-columns) * (1 + std::min(narrow, 1.0));
}

unsigned RocksDBBloomProbes(double bits_per_key) {
  // The most bits per key for 1, 2, ... probes.
  constexpr double kMost[] = {2.080,  3.580,  5.100,  6.640,  8.300,  10.070,
                              11.720, 14.001, 16.050, 18.300, 22.001, 25.501};
  unsigned probes = 1;
  for (const double most : kMost) probes += bits_per_key > most ? 1 : 0;
  if (probes <= 12) return probes;
  return bits_per_key > 50 ? 24 : static_cast<unsigned>(bits_per_key / 2 - 1);
}

double RocksDBBloomRate(double bits_per_key) {
  if (!(bits_per_key > 0)) return 1;
  return BlockedBloomRate(kRocksDBLineBits, kRocksDBLineBits / bits_per_key,
                          RocksDBBloomProbes(bits_per_key));
}

double RocksDBRibbonRate(double stored_bits_per_key) {
  return std::min(1.0,
                  std::exp2(-stored_bits_per_key / kRocksDBRibbonBitsPerBit));
}

std::optional<double> RocksDBFilterRate(std::string_view filter,
                                        uint64_t keys) {
  constexpr size_t kTrailer = 5;
  constexpr uint64_t kRows = 128;  // of a Ribbon filter's block
  if (filter.size() <= kTrailer) return 0;
  const auto byte = [end = filter.data() + filter.size()](int from_end) {
    return static_cast<unsigned char>(end[-from_end]);
  };
  const size_t payload = filter.size() - kTrailer;
  if (byte(5) == 0) return 1;
  if (byte(5) == 0xff && byte(4) == 0 && byte(3) >> 5 == 0 &&
      payload % 64 == 0 && (byte(3) & 31) > 0) {
    const size_t lines = payload / 64;
    return BlockedBloomRate(
        kRocksDBLineBits,
        static_cast<double>(keys) / static_cast<double>(lines), byte(3) & 31);
  }
  const uint64_t blocks =
      byte(3) | uint64_t{byte(2)} << 8 | uint64_t{byte(1)} << 16;
  const uint64_t segments = payload / 16;  // a column of a block each
  if (byte(5) == 0xfe && blocks > 1 && segments >= blocks &&
      segments <= 32 * blocks) {
    const uint64_t columns = (segments + blocks - 1) / blocks;
    const uint64_t narrow = columns * blocks - segments;
    // Keys start in all rows but the last 127.
    return RibbonRate(static_cast<double>(columns),
                      static_cast<double>(narrow * kRows) /
                          static_cast<double>((blocks - 1) * kRows + 1));
  }
  return std::nullopt;
}

}  // namespace deltabloom::internal
