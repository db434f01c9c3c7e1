// Fixed-width little-endian integers at any alignment, on machines of any byte
// order. Each is a single load or store where the machine allows.
#pragma once

#include <cstdint>
#include <cstring>

namespace deltabloom::internal {

// Copies: gcc 12 does not always make one load of bytes that are put together.
inline uint32_t LoadFixed32(const void* from) {
  uint32_t value;
  std::memcpy(&value, from, sizeof(value));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  value = __builtin_bswap32(value);
#endif
  return value;
}

inline uint64_t LoadFixed64(const void* from) {
  uint64_t value;
  std::memcpy(&value, from, sizeof(value));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  value = __builtin_bswap64(value);
#endif
  return value;
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
