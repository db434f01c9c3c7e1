// The 64-bit hash of keys in the layouts local and compact, and what they
// derive from it. Filters on disk depend on it, so it is frozen:
// docs/format.md, "The 64-bit hash", defines it. docs/design.md has the reasons
// for its shape.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "util/coding.h"

namespace deltabloom::internal {

struct Pair64 {
  uint64_t low;
  uint64_t high;
};

// The 128-bit product, from products of halves.
inline Pair64 Multiply128Portable(uint64_t a, uint64_t b) {
  const uint64_t a_low = a & 0xffffffff, a_high = a >> 32;
  const uint64_t b_low = b & 0xffffffff, b_high = b >> 32;
  const uint64_t low = a_low * b_low;
  const uint64_t cross = (low >> 32) + a_high * b_low;
  const uint64_t middle = (cross & 0xffffffff) + a_low * b_high;
  return {middle << 32 | (low & 0xffffffff),
          a_high * b_high + (cross >> 32) + (middle >> 32)};
}

// The 128-bit product.
inline Pair64 Multiply128(uint64_t a, uint64_t b) {
#ifdef __SIZEOF_INT128__
  __extension__ using Uint128 = unsigned __int128;
  const Uint128 product = static_cast<Uint128>(a) * b;
  return {static_cast<uint64_t>(product), static_cast<uint64_t>(product >> 64)};
#else
  return Multiply128Portable(a, b);
#endif
}

// Maps a hash to [0, n) evenly, in the order of the hashes: floor(hash * n /
// 2^64). The result depends mostly on the high bits of the hash.
inline uint64_t ScaleHash(uint64_t hash, uint64_t n) {
  return Multiply128(hash, n).high;
}

// The first 64 bits of the fractional parts of the square roots of 2, 3, 5, 7;
// 11, which must come out odd; and 13.
inline constexpr uint64_t kHash64Lanes[4] = {
    0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b,
    0xa54ff53a5f1d36f1};
inline constexpr uint64_t kHash64End = 0x510e527fade682d1;
inline constexpr uint64_t kHash64Add = 0x9b05688c2b3e6c1f;

// A multiplication that loses no input: for every fixed a the result is
// injective in b, and for every fixed b in a. The product alone is not: with
// a = 0 it is 0 for every b.
inline Pair64 Hash64Step(uint64_t a, uint64_t b) {
  const Pair64 product = Multiply128(a, b);
  return {product.low, product.high + (a - b + kHash64Add)};
}

inline uint64_t Hash64Finish(uint64_t a, uint64_t b, uint64_t size) {
  const Pair64 product = Multiply128(a ^ (kHash64End ^ size), b);
  return product.low ^ product.high;
}

// The sizes of keys for which there are inline functions below: 8 to 16 bytes,
// 17 to 32 bytes.
inline bool IsHash64Short(size_t size) { return size - 8 <= 16 - 8; }
inline bool IsHash64Medium(size_t size) { return size - 17 <= 32 - 17; }

// `kept` masks the last 8 bytes; it may clear bits of the very last byte only,
// and only in keys of more than 8 bytes, where no other word has that byte.
inline uint64_t Hash64Short(const char* data, size_t size,
                            uint64_t kept = ~uint64_t{0}) {
  const uint64_t last = LoadFixed64(data + size - 8) & kept;
  const Pair64 x =
      Hash64Step(LoadFixed64(data) ^ kHash64Lanes[0], last ^ kHash64Lanes[1]);
  return Hash64Finish(x.low, x.high, size);
}

inline uint64_t Hash64Medium(const char* data, size_t size,
                             uint64_t kept = ~uint64_t{0}) {
  const char* last = data + size - 16;
  const Pair64 x = Hash64Step(LoadFixed64(data) ^ kHash64Lanes[0],
                              LoadFixed64(data + 8) ^ kHash64Lanes[1]);
  const Pair64 y = Hash64Step(LoadFixed64(last) ^ kHash64Lanes[2],
                              (LoadFixed64(last + 8) & kept) ^ kHash64Lanes[3]);
  return Hash64Finish(x.low ^ y.high, x.high ^ y.low, size);
}

// For keys of more than 32 bytes.
inline uint64_t Hash64Long(const char* data, size_t size,
                           uint64_t kept = ~uint64_t{0}) {
  Pair64 x{kHash64Lanes[0], kHash64Lanes[1]};
  Pair64 y{kHash64Lanes[2], kHash64Lanes[3]};
  const char* const last = data + size - 32;
  do {
    x = Hash64Step(LoadFixed64(data) ^ x.low, LoadFixed64(data + 8) ^ x.high);
    y = Hash64Step(LoadFixed64(data + 16) ^ y.low,
                   LoadFixed64(data + 24) ^ y.high);
    data += 32;
  } while (data < last);
  x = Hash64Step(LoadFixed64(last) ^ x.low, LoadFixed64(last + 8) ^ x.high);
  y = Hash64Step(LoadFixed64(last + 16) ^ y.low,
                 (LoadFixed64(last + 24) & kept) ^ y.high);
  return Hash64Finish(x.low ^ y.high, x.high ^ y.low, size);
}

// The words of keys of at most 16 bytes. Every byte is in at least one of them.
inline Pair64 ShortWords(const char* data, size_t size) {
  if (size >= 8) return {LoadFixed64(data), LoadFixed64(data + size - 8)};
  if (size >= 4) return {LoadFixed32(data), LoadFixed32(data + size - 4)};
  if (size == 0) return {0, 0};
  const auto byte = [data](size_t i) {
    return uint64_t{static_cast<unsigned char>(data[i])};
  };
  return {byte(0) | byte(size / 2) << 8 | byte(size - 1) << 16, 0};
}

// For keys of any size. Not inlined, so that callers stay small.
__attribute__((noinline)) inline uint64_t Hash64AnySize(const char* data,
                                                        size_t size) {
  if (size > 32) return Hash64Long(data, size);
  if (size > 16) return Hash64Medium(data, size);
  const Pair64 words = ShortWords(data, size);
  const Pair64 x =
      Hash64Step(words.low ^ kHash64Lanes[0], words.high ^ kHash64Lanes[1]);
  return Hash64Finish(x.low, x.high, size);
}

inline uint64_t Hash64(const char* data, size_t size) {
  if (IsHash64Short(size)) return Hash64Short(data, size);
  if (IsHash64Medium(size)) return Hash64Medium(data, size);
  return Hash64AnySize(data, size);
}

inline uint64_t Hash64(std::string_view key) {
  return Hash64(key.data(), key.size());
}

// The hash of the first `bits` bits, followed by zeros to a whole byte.
// REQUIRES: bits > 0; 8 bytes can be read.
inline uint64_t Hash64OfBits(const char* data, size_t bits) {
  assert(bits > 0);
  const size_t size = (bits + 7) / 8;
  const uint64_t kept = ~(((uint64_t{1} << (8 * size - bits)) - 1) << 56);
  if (size > 32) return Hash64Long(data, size, kept);
  if (size > 16) return Hash64Medium(data, size, kept);
  if (size > 8) return Hash64Short(data, size, kept);
  const size_t shift = 64 - 8 * size;
  char word[8];
  StoreFixed64(word, (LoadFixed64(data) << shift & kept) >> shift);
  return Hash64AnySize(word, size);
}

// Derives another hash from a hash. For every `stream` it is a permutation of
// the 64-bit values, so unequal hashes stay unequal. The hashes of different
// streams are as good as independent.
inline uint64_t Remix64(uint64_t hash, uint64_t stream) {
  constexpr uint64_t kMultiplier = 0xd6e8feb86659fd93;
  uint64_t x = hash + (stream + 1) * kHash64Lanes[1];
  x = (x ^ (x >> 32)) * kMultiplier;
  x = (x ^ (x >> 32)) * kMultiplier;
  return x ^ (x >> 32);
}

}  // namespace deltabloom::internal
