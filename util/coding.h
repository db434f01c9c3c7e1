// Fixed-width little-endian integers, read and written byte by byte so that
// any alignment and any byte order of the machine work. Compilers turn each
// into a single load or store where the machine allows.
#ifndef DELTABLOOM_UTIL_CODING_H_
#define DELTABLOOM_UTIL_CODING_H_

#include <cstdint>

namespace deltabloom::internal {

inline uint32_t LoadFixed32(const void* from) {
  const auto* b = static_cast<const unsigned char*>(from);
  return uint32_t{b[0]} | uint32_t{b[1]} << 8 | uint32_t{b[2]} << 16 |
         uint32_t{b[3]} << 24;
}

inline uint64_t LoadFixed64(const void* from) {
  const auto* b = static_cast<const unsigned char*>(from);
  return uint64_t{LoadFixed32(b)} | uint64_t{LoadFixed32(b + 4)} << 32;
}

inline void StoreFixed32(void* to, uint32_t value) {
  auto* b = static_cast<unsigned char*>(to);
  for (unsigned i = 0; i < 4; ++i) {
    b[i] = static_cast<unsigned char>(value >> (8 * i));
  }
}

inline void StoreFixed64(void* to, uint64_t value) {
  auto* b = static_cast<unsigned char*>(to);
  StoreFixed32(b, static_cast<uint32_t>(value));
  StoreFixed32(b + 4, static_cast<uint32_t>(value >> 32));
}

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_UTIL_CODING_H_
