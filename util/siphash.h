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

inline void StoreSipHashKey(void* bytes, const SipHashKey& key) {
  auto* at = static_cast<unsigned char*>(bytes);
  StoreFixed64(at, key.low);
  StoreFixed64(at + 8, key.high);
}

// Four words, named as in the paper.
class SipHashState {
 public:
  // "somepseudorandomlygeneratedbytes", big-endian.
  explicit SipHashState(const SipHashKey& key)
      : v0_(key.low ^ 0x736f6d6570736575),
        v1_(key.high ^ 0x646f72616e646f6d),
        v2_(key.low ^ 0x6c7967656e657261),
        v3_(key.high ^ 0x7465646279746573) {}

  void Add(uint64_t word) {
    v3_ ^= word;
    for (int i = 0; i < kWordRounds; ++i) Round();
    v0_ ^= word;
  }

  uint64_t Finish() {
    v2_ ^= 0xff;
    for (int i = 0; i < kFinalRounds; ++i) Round();
    return v0_ ^ v1_ ^ v2_ ^ v3_;
  }

 private:
  static constexpr int kWordRounds = 2;
  static constexpr int kFinalRounds = 4;

  static uint64_t RotateLeft(uint64_t x, int bits) {
    return x << bits | x >> (64 - bits);
  }

  void Round() {
    v0_ += v1_;
    v2_ += v3_;
    v1_ = RotateLeft(v1_, 13) ^ v0_;
    v3_ = RotateLeft(v3_, 16) ^ v2_;
    v0_ = RotateLeft(v0_, 32);
    v2_ += v1_;
    v0_ += v3_;
    v1_ = RotateLeft(v1_, 17) ^ v2_;
    v3_ = RotateLeft(v3_, 21) ^ v0_;
    v2_ = RotateLeft(v2_, 32);
  }

  uint64_t v0_, v1_, v2_, v3_;
};

inline uint64_t SipHash(const SipHashKey& key, std::string_view data) {
  SipHashState state(key);
  for (size_t i = 0; i + 8 <= data.size(); i += 8) {
    state.Add(LoadFixed64(data.data() + i));
  }
  // The last word: the rest of the data, and the size in the highest byte.
  uint64_t word = uint64_t{data.size()} << 56;
  const std::string_view rest = data.substr(data.size() / 8 * 8);
  for (size_t i = 0; i < rest.size(); ++i) {
    word |= uint64_t{static_cast<unsigned char>(rest[i])} << (8 * i);
  }
  state.Add(word);
  return state.Finish();
}

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_UTIL_SIPHASH_H_
