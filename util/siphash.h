// SipHash-2-4, a keyed hash: J.-P. Aumasson and D. J. Bernstein, "SipHash: a
// fast short-input PRF" (2012), with what its key and its result are in bytes.
// One who does not know the key cannot tell its values from random ones, as far
// as published analysis goes, and so cannot choose keys that collide.
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
