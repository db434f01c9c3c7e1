// The keys of the golden files and the checksum in them.
#pragma once

#include <cinttypes>
#include <cstdio>
#include <string>

#include "util/coding.h"

namespace deltabloom::test {

// The i-th key of a kind:
//   le32    4 little-endian bytes of i
//   user    "user%010d" of 7 * i
//   golden  8 little-endian bytes of i * 0x9E3779B97F4A7C15 + 1, then ff 80
inline std::string GoldenKey(const std::string& kind, uint64_t i) {
  char key[32] = {};
  if (kind == "le32") {
    internal::StoreFixed32(key, static_cast<uint32_t>(i));
    return std::string(key, 4);
  }
  if (kind == "user") {
    std::snprintf(key, sizeof(key), "user%010" PRIu64, 7 * i);
    return key;
  }
  internal::StoreFixed64(key, i * 0x9E3779B97F4A7C15u + 1);
  return std::string(key, 8) + "\xff\x80";
}

inline uint64_t Fnv1a64(const std::string& bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (char byte : bytes) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
  }
  return hash;
}

}  // namespace deltabloom::test
