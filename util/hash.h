// The hashes that are on disk. They are frozen: each is a part of a filter
// format, so a change here would lose keys in every filter ever written.
#pragma once

#include <cstddef>
#include <cstdint>

#include "util/coding.h"

namespace deltabloom::internal {

// Seed of both 32-bit hashes in filters (LevelDB's choice, util/bloom.cc).
inline constexpr uint32_t kBloomHashSeed = 0xbc9f1d34;

// MurmurHash2, 32 bits, by Austin Appleby (public domain), in its
// endian-neutral form. Only the low 32 bits of the length enter the hash.
inline uint32_t MurmurHash2(const char* data, size_t size, uint32_t seed) {
  constexpr uint32_t kMultiplier = 0x5bd1e995;
  uint32_t h = seed ^ static_cast<uint32_t>(size);
  for (; size >= 4; data += 4, size -= 4) {
    uint32_t word = LoadFixed32(data) * kMultiplier;
    word ^= word >> 24;
    h = (h * kMultiplier) ^ (word * kMultiplier);
  }
  if (size > 0) {
    for (size_t i = 0; i < size; ++i) {
      h ^= uint32_t{static_cast<unsigned char>(data[i])} << (8 * i);
    }
    h *= kMultiplier;
  }
  h ^= h >> 13;
  h *= kMultiplier;
  return h ^ (h >> 15);
}

// LevelDB's hash (util/hash.cc there): one multiply per word, tail bytes taken
// as unsigned. RocksDB's legacy copy sign-extends them and is another hash.
inline uint32_t LevelDBHash(const char* data, size_t size, uint32_t seed) {
  constexpr uint32_t kMultiplier = 0xc6a4a793;
  uint32_t h = seed ^ (static_cast<uint32_t>(size) * kMultiplier);
  for (; size >= 4; data += 4, size -= 4) {
    h = (h + LoadFixed32(data)) * kMultiplier;
    h ^= h >> 16;
  }
  if (size > 0) {
    for (size_t i = 0; i < size; ++i) {
      h += uint32_t{static_cast<unsigned char>(data[i])} << (8 * i);
    }
    h *= kMultiplier;
    h ^= h >> 24;
  }
  return h;
}

}  // namespace deltabloom::internal
