// Which bits of a filter belong to a key, in the schemes that hash with
// Murmur3 (docs/shared_filters_format.md defines each). `bits` is a number, or
// a Divisor, of at least 1.
#ifndef DELTABLOOM_SHARED_FILTERS_OFFSETS_H_
#define DELTABLOOM_SHARED_FILTERS_OFFSETS_H_

#include <cstdint>

#include "shared_filters/murmur3.h"
#include "util/hash64.h"

namespace deltabloom::internal {

// A divisor that is used many times: `n % divisor` without a division.
class Divisor {
 public:
  // `value` is at least 1.
  explicit Divisor(uint64_t value)
      : value_(value), reciprocal_(UINT64_MAX / value) {}

  uint64_t value() const { return value_; }

  friend uint64_t operator%(uint64_t n, const Divisor& divisor) {
    // The quotient is exact or one too small: the reciprocal is less than
    // 2^64 / value by at most 1, and n is less than 2^64.
    const uint64_t quotient = Multiply128(n, divisor.reciprocal_).high;
    const uint64_t rest = n - quotient * divisor.value_;
    return rest >= divisor.value_ ? rest - divisor.value_ : rest;
  }

 private:
  uint64_t value_;
  uint64_t reciprocal_;
};

// Guava's strategy MURMUR128_MITZ_32: probe 0 .. k-1 of the key with this hash.
// In 32 bits, so no offset is beyond 2^31 - 1.
template <typename Bits>
uint64_t GuavaMitz32Offset(const Murmur3Hash& hash, uint32_t probe,
                           const Bits& bits) {
  const auto hash1 = static_cast<uint32_t>(hash.low);
  const auto hash2 = static_cast<uint32_t>(hash.low >> 32);
  const uint32_t combined = hash1 + (probe + 1) * hash2;
  const bool negative = combined >> 31 != 0;
  return uint64_t{negative ? ~combined : combined} % bits;
}

// Guava's strategy MURMUR128_MITZ_64: probe 0 .. k-1 of the key with this hash.
template <typename Bits>
uint64_t GuavaMitz64Offset(const Murmur3Hash& hash, uint32_t probe,
                           const Bits& bits) {
  const uint64_t combined = hash.low + probe * hash.high;
  return (combined & INT64_MAX) % bits;
}

// Scheme go-murmur3: the key is hashed anew for each probe, with the probe's
// number as a byte behind it.
template <typename Bits>
uint64_t GoMurmur3Offset(const Murmur3& key, uint8_t probe, const Bits& bits) {
  return key.FinishWith(probe).low % bits;
}

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_SHARED_FILTERS_OFFSETS_H_
