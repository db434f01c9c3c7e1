// The false-positive rate of classic filters: expected, and estimated from a
// filter's bits. Its probes depend on each other (docs/design.md) in a way that
// no formula describes, so what they add to the rate is a table, measured by
// `script/study classic`.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "util/coding.h"
#include "util/hash64.h"
#include "util/layouts/classic/classic.h"
#include "util/layouts/layout.h"
#include "util/parsed_filter.h"
#include "util/rates/rates.h"

namespace deltabloom::internal::classic {
namespace {

constexpr size_t kKeys = std::size(kMeasuredKeys);
constexpr size_t kProbes = std::size(kMeasuredProbes);

// `script/study classic`: the measured rate, of the worst of eight sizes, as a
// multiple of RateWithoutExcess.
constexpr double kExcess[kKeys][kProbes] = {
    {1.022, 12.588, 109.640, 718.299, 3788, 1.808e+04, 8.422e+04, 2.828e+05,
     8.395e+05, 2.183e+06, 4.792e+06, 1.448e+07, 5.05e+07, 6.085e+07, 1.01e+08},
    {1.011, 1.102, 1.262, 1.399, 1.802, 2.940, 5.565, 5.629, 8.693, 15.640,
     31.736, 64.860, 1163, 1.258e+04, 3.14e+05},
    {1.201, 1.130, 1.171, 1.105, 1.159, 1.198, 1.373, 1.551, 1.732, 2.133,
     2.526, 8.524, 26.576, 472.136, 1557},
    {1.163, 1.115, 1.072, 1.099, 1.093, 1.061, 1.088, 1.154, 1.108, 1.176,
     1.169, 1.484, 3.515, 19.634, 18.843},
    {1.170, 1.141, 1.124, 1.085, 1.091, 1.125, 1.127, 1.134, 1.097, 1.167,
     1.139, 1.260, 1.326, 1.385, 1.460},
    {1.161, 1.344, 1.414, 1.370, 1.202, 1.136, 1.138, 1.122, 1.140, 1.130,
     1.148, 1.164, 1.195, 1.209, 1.238},
    {1.012, 1.404, 1.413, 1.384, 1.408, 1.404, 1.391, 1.408, 1.440, 1.401,
     1.453, 1.340, 1.161, 1.053, 1.048},
    {1.033, 1.607, 1.686, 1.696, 1.711, 1.717, 1.901, 1.747, 1.952, 1.836,
     1.825, 1.709, 1.307, 1.096, 1.029},
    {1.034, 1.563, 1.456, 1.485, 1.480, 1.485, 1.493, 1.523, 1.485, 1.558,
     1.417, 1.473, 1.148, 1.095, 1.058},
};

// The last row but one at or before `value`, and how far `value` is on the way
// to the next one, 0 to 1; values beyond the ends count as the ends.
struct Place {
  size_t row;
  double way;
};

template <typename T, size_t kSize, typename Scale>
Place PlaceOf(const T (&at)[kSize], T value, Scale scale) {
  if (value <= at[0]) return {0, 0};
  if (value >= at[kSize - 1]) return {kSize - 2, 1};
  const auto row =
      static_cast<size_t>(std::upper_bound(at, at + kSize, value) - at - 1);
  return {row, (scale(value) - scale(at[row])) /
                   (scale(at[row + 1]) - scale(at[row]))};
}

// Between what was measured, geometrically.
double Excess(uint64_t keys, uint32_t probes) {
  const Place of_keys = PlaceOf(kMeasuredKeys, keys, [](uint64_t n) {
    return std::log(static_cast<double>(n));
  });
  const Place of_probes = PlaceOf(kMeasuredProbes, probes, [](uint32_t k) {
    return static_cast<double>(k);
  });
  const auto between = [&](size_t row) {
    const double* excess = kExcess[row] + of_probes.row;
    return std::log(excess[0]) * (1 - of_probes.way) +
           std::log(excess[1]) * of_probes.way;
  };
  return std::exp(between(of_keys.row) * (1 - of_keys.way) +
                  between(of_keys.row + 1) * of_keys.way);
}

constexpr uint64_t kLineBytes = 64;
constexpr uint64_t kMostLines = 64;
constexpr uint32_t kTestedHashes = 8192;
constexpr uint32_t kFewestMatches = 20;  // that say more than theory
constexpr double kSoundKeys = 30'000;

unsigned SetBits(const unsigned char* bytes, uint64_t n) {
  unsigned set = 0;
  for (; n >= 8; bytes += 8, n -= 8) {
    set += static_cast<unsigned>(__builtin_popcountll(LoadFixed64(bytes)));
  }
  for (; n != 0; ++bytes, --n) {
    set += static_cast<unsigned>(__builtin_popcount(*bytes));
  }
  return set;
}

// Returns the share of set bits in a sample of lines. It is less than 1 even if
// all are set, so that the estimate of keys is finite.
double ShareOfSetBits(const unsigned char* payload, uint64_t payload_size) {
  const uint64_t lines = payload_size / kLineBytes;
  uint64_t set = 0;
  uint64_t bytes = 0;
  if (lines <= kMostLines) {
    bytes = payload_size;
    set = SetBits(payload, bytes);
  } else {
    bytes = kMostLines * kLineBytes;
    for (uint64_t i = 0; i < kMostLines; ++i) {
      const uint64_t line =
          lines / kMostLines * i + lines % kMostLines * i / kMostLines;
      set += SetBits(payload + line * kLineBytes, kLineBytes);
    }
  }
  const auto bits = static_cast<double>(bytes * 8);
  return std::min(static_cast<double>(set), bits - 0.5) / bits;
}

}  // namespace

double RateWithoutExcess(const AnyShape& any_shape, uint64_t keys) {
  const Shape& shape = any_shape.As<Shape>();
  return BloomRateOfHash(static_cast<double>(shape.bits),
                         static_cast<double>(keys), shape.probes, 32);
}

double Rate(const AnyShape& any_shape, uint64_t keys) {
  const Shape& shape = any_shape.As<Shape>();
  const double plain = RateWithoutExcess(any_shape, keys);
  // A single probe does not depend on another, so there is no excess.
  if (shape.probes < kMeasuredProbes[0]) return plain;
  return std::min(1.0, plain * Excess(keys, shape.probes));
}

// Keys from the share of set bits among at most 64 lines of 64 bytes, spread
// evenly (KeysFromSetBits): a standard error of 1 %. Up to kSoundKeys the rate
// is that share to the power of the number of probes; beyond, where the probes
// fall on each other, it is counted where it is high enough: of 8,192 hashes,
// how many match, so that a rate of 1 % has a standard error of a ninth. Below
// 0.25 % it is the former, up to two times too low.
// Either way with the chance that a key shares its hash of 32 bits with one of
// the filter's.
ContentEstimate EstimateContent(const ParsedFilter& parsed) {
  const Shape& shape = parsed.shape.As<Shape>();
  const auto bits = static_cast<double>(shape.bits);
  const double probes = shape.probes;
  const double share = ShareOfSetBits(parsed.payload, parsed.payload_size);
  if (shape.probes == 0) return {/*keys=*/0, /*rate=*/1};
  ContentEstimate estimate;
  estimate.keys = KeysFromSetBits(bits, share * bits, probes);
  const double by_bits = std::pow(share, probes);
  const double by_hash = HashCollisionRate(estimate.keys, 32);
  estimate.rate = by_bits + by_hash - by_bits * by_hash;
  if (estimate.keys <= kSoundKeys) return estimate;
  uint32_t matches = 0;
  for (uint32_t i = 1; i <= kTestedHashes; ++i) {
    matches += TestHash<0>(parsed, static_cast<uint32_t>(Remix64(i, 0)));
  }
  if (matches >= kFewestMatches) {
    estimate.rate = matches / double{kTestedHashes};
  }
  return estimate;
}

}  // namespace deltabloom::internal::classic
