// Which bits of a filter belong to a key, in the schemes that hash with
// Murmur3 (docs/shared_filters.md defines each). Pure functions: a filter in
// memory and a bitmap elsewhere ask the same ones.
//
// `bits` is a number, or a Divisor (shared_filters/divisor.h), of at least 1.
#ifndef DELTABLOOM_SHARED_FILTERS_OFFSETS_H_
#define DELTABLOOM_SHARED_FILTERS_OFFSETS_H_

#include <cstdint>

#include "shared_filters/murmur3.h"

namespace deltabloom::internal {

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
