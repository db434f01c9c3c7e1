// SipHash-2-4, a keyed hash: J.-P. Aumasson and D. J. Bernstein, "SipHash: a
// fast short-input PRF" (2012), and the byte order of its key and its result.
// As far as published analysis goes, its values cannot be distinguished from
// random ones without the key, so an attacker cannot choose colliding keys.
// docs/format.md, "Seed", is the definition used on disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "util/coding.h"

namespace deltabloom::internal {

inline constexpr size_t kSipHashKeySize = 16;

struct SipHashKey {
  uint64_t low = 0;   // bytes 0 to 7, little-endian
  uint64_t high = 0;  // bytes 8 to 15
};

inline SipHashKey LoadSipHashKey(const void* bytes) {
  const auto* at = static_cast<const unsigned char*>(bytes);
  return {LoadFixed64(at), LoadFixed64(at + 8)};
}

inline uint64_t SipHash(const SipHashKey& key, std::string_view data) {
  // Named as in the paper: "somepseudorandomlygeneratedbytes", big-endian.
  uint64_t v0 = key.low ^ 0x736f6d6570736575;
  uint64_t v1 = key.high ^ 0x646f72616e646f6d;
  uint64_t v2 = key.low ^ 0x6c7967656e657261;
  uint64_t v3 = key.high ^ 0x7465646279746573;
  const auto rotate_left = [](uint64_t x, int bits) {
    return x << bits | x >> (64 - bits);
  };
  const auto rounds = [&](int n) {
    for (; n > 0; --n) {
      v0 += v1;
      v2 += v3;
      v1 = rotate_left(v1, 13) ^ v0;
      v3 = rotate_left(v3, 16) ^ v2;
      v0 = rotate_left(v0, 32);
      v2 += v1;
      v0 += v3;
      v1 = rotate_left(v1, 17) ^ v2;
      v3 = rotate_left(v3, 21) ^ v0;
      v2 = rotate_left(v2, 32);
    }
  };
  const auto add = [&](uint64_t word) {
    v3 ^= word;
    rounds(2);
    v0 ^= word;
  };
  for (size_t i = 0; i + 8 <= data.size(); i += 8) {
    add(LoadFixed64(data.data() + i));
  }
  // The last word: the rest of the data, and the size in the highest byte.
  uint64_t word = uint64_t{data.size()} << 56;
  const std::string_view rest = data.substr(data.size() / 8 * 8);
  for (size_t i = 0; i < rest.size(); ++i) {
    word |= uint64_t{static_cast<unsigned char>(rest[i])} << (8 * i);
  }
  add(word);
  v2 ^= 0xff;
  rounds(4);
  return v0 ^ v1 ^ v2 ^ v3;
}

}  // namespace deltabloom::internal
