#include "util/layouts/classic/estimate.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "util/layouts/classic/kernels.h"
#include "util/layouts/classic/shape.h"
#include "util/rates/rates.h"

namespace deltabloom::internal::classic {
namespace {

constexpr uint64_t kLineBytes = 64;
constexpr uint64_t kMostLines = 64;
constexpr uint32_t kAskedHashes = 8192;
constexpr uint32_t kFewestMatches = 20;  // that say more than theory

unsigned SetBits(const unsigned char* bytes, uint64_t n) {
  unsigned set = 0;
  for (; n >= 8; bytes += 8, n -= 8) {
    uint64_t word;
    std::memcpy(&word, bytes, sizeof(word));
    set += static_cast<unsigned>(__builtin_popcountll(word));
  }
  for (; n != 0; ++bytes, --n) {
    set += static_cast<unsigned>(__builtin_popcount(*bytes));
  }
  return set;
}

// Of the bits in a sample of lines, those that are set; less than all of them,
// so that keys are not infinitely many.
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

// Some other number, as random as a hash: the last steps of MurmurHash3.
uint32_t Mixed(uint32_t i) {
  i ^= i >> 16;
  i *= 0x85ebca6b;
  i ^= i >> 13;
  i *= 0xc2b2ae35;
  return i ^ i >> 16;
}

// How many of kAskedHashes match.
uint32_t CountMatches(const ParsedFilter& parsed) {
  uint32_t matches = 0;
  for (uint32_t i = 1; i <= kAskedHashes; ++i) {
    matches += MayMatchHash(parsed, Mixed(i)) ? 1 : 0;
  }
  return matches;
}

}  // namespace

FilterEstimate EstimateFilter(const ParsedFilter& parsed) {
  const Shape& shape = parsed.shape.As<Shape>();
  const auto bits = static_cast<double>(shape.bits);
  const double probes = shape.probes;
  const double share = ShareOfSetBits(parsed.payload, parsed.payload_size);
  FilterEstimate estimate;
  if (shape.probes == 0) {
    estimate.rate = 1;
    return estimate;
  }
  estimate.keys = KeysFromSetBits(bits, share * bits, probes);
  const double by_bits = std::pow(share, probes);
  const double by_hash = HashCollisionRate(estimate.keys, 32);
  estimate.rate = by_bits + by_hash - by_bits * by_hash;
  if (estimate.keys <= kSoundKeys) return estimate;
  const uint32_t matches = CountMatches(parsed);
  if (matches >= kFewestMatches) {
    estimate.rate = matches / double{kAskedHashes};
  }
  return estimate;
}

}  // namespace deltabloom::internal::classic
