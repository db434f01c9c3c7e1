// SipHash-2-4, a keyed hash: J.-P. Aumasson and D. J. Bernstein, "SipHash: a
// fast short-input PRF" (2012), and the byte order of its key and its result.
// As far as published analysis goes, its values cannot be distinguished from
// random ones without the key, so an attacker cannot choose colliding keys.
// docs/format.md, "Seeded filters", is the definition used on disk.
#ifndef DELTABLOOM_UTIL_SIPHASH_H_
#define DELTABLOOM_UTIL_SIPHASH_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace deltabloom::internal {

inline constexpr size_t kSipHashKeySize = 16;

struct SipHashKey {
  uint64_t low = 0;   // bytes 0 to 7, little-endian
  uint64_t high = 0;  // bytes 8 to 15
};

SipHashKey LoadSipHashKey(const void* bytes);
void StoreSipHashKey(void* bytes, const SipHashKey& key);

uint64_t SipHash(const SipHashKey& key, std::string_view data);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_UTIL_SIPHASH_H_
