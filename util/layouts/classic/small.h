// Small classic filters without parsing and without allocations: for one
// lookup, making the reciprocal and choosing kernels costs as much as the
// lookup itself; for a few keys, so do a builder's allocations.
#ifndef DELTABLOOM_UTIL_LAYOUTS_CLASSIC_SMALL_H_
#define DELTABLOOM_UTIL_LAYOUTS_CLASSIC_SMALL_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "util/coding.h"
#include "util/layouts/classic/shape.h"

namespace deltabloom::internal::classic {

// Keeps bits below 2^32.
inline constexpr uint64_t kMaxSmallPayload = uint64_t{1} << 28;

// The answer of a filter of 1..kMaxSmallPayload bytes and 1..kMaxProbes probes
// for the key with this hash.
inline bool MayMatchUnparsed(const unsigned char* payload,
                             uint64_t payload_size, uint32_t probes,
                             uint32_t hash) {
  const Modulo32 modulo(static_cast<uint32_t>(payload_size * 8));
  const uint32_t delta = Delta(hash);
  const auto missing = [&](uint32_t h) {
    const uint32_t position = modulo(h);
    return ~(uint32_t{payload[position / 8]} >> (position % 8)) & 1;
  };
  if (probes >= 3) {
    // Three probes for one branch: each finds its bit set about every second
    // time, so branches of their own would be mispredicted.
    if ((missing(hash) | missing(hash + delta) | missing(hash + 2 * delta)) !=
        0) {
      return false;
    }
    hash += 3 * delta;
    probes -= 3;
  }
  uint32_t any_missing = 0;
  for (; probes >= 3; probes -= 3, hash += 3 * delta) {
    any_missing |=
        missing(hash) | missing(hash + delta) | missing(hash + 2 * delta);
  }
  for (; probes > 0; --probes, hash += delta) any_missing |= missing(hash);
  return any_missing == 0;
}

// Payloads that BuildOnStack can fill.
inline constexpr uint64_t kMaxStackPayload = uint64_t{2} << 10;

// Fills payload[0 .. payload_size) for the keys with hashes hash_of(0 .. n-1).
// payload_size is 1..kMaxStackPayload.
template <typename HashOf>
void BuildOnStack(size_t n, const HashOf& hash_of, uint64_t payload_size,
                  uint32_t probes, char* payload) {
  // A byte per bit, packed in the end. Setting bits in place would read many
  // bytes that were written just before, and wait for each.
  unsigned char flags[kMaxStackPayload * 8];
  const auto bits = static_cast<uint32_t>(payload_size * 8);
  std::memset(flags, 0, bits);
  const Modulo32 modulo(bits);
  for (size_t i = 0; i < n; ++i) {
    uint32_t h = hash_of(i);
    const uint32_t delta = Delta(h);
    for (uint32_t probe = 0; probe < probes; ++probe, h += delta) {
      flags[modulo(h)] = 1;
    }
  }
  for (const unsigned char* from = flags; from < flags + bits; from += 8) {
    // Byte i is 0 or 1; the product has it as bit 56 + i, without carries.
    *payload++ =
        static_cast<char>(LoadFixed64(from) * 0x0102040810204080 >> 56);
  }
}

}  // namespace deltabloom::internal::classic

#endif  // DELTABLOOM_UTIL_LAYOUTS_CLASSIC_SMALL_H_
