// MurmurHash3_x64_128 (Austin Appleby, 2011), seed 0, with which Guava, Go and
// many others hash keys, and the bits that their filters make of it
// (docs/format.md). Frozen: other programs' bytes depend on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "deltabloom/guava_filter.h"
#include "util/coding.h"
#include "util/hash64.h"

namespace deltabloom::internal {

// The 16 bytes of the hash as two little-endian numbers.
struct Murmur3Hash {
  uint64_t low;   // the first 8 bytes: Guava's asLong(), Go's Sum64()
  uint64_t high;  // the last 8 bytes
};

// The hash of `data`, and cheaply that of `data` with one byte more: the blocks
// of 16 bytes are mixed once.
class Murmur3 {
 public:
  explicit Murmur3(std::string_view data) : size_(data.size()) {
    while (data.size() >= kBlockSize) {
      MixBlock(reinterpret_cast<const unsigned char*>(data.data()));
      data.remove_prefix(kBlockSize);
    }
    // An empty view may have no address.
    if (!data.empty()) std::memcpy(tail_, data.data(), data.size());
  }

  Murmur3Hash Finish() const {
    // A word of zeros in the tail mixes to zero and changes nothing.
    uint64_t high = high_ ^ MixWord2(LoadFixed64(tail_ + 8)) ^ size_;
    uint64_t low = (low_ ^ MixWord1(LoadFixed64(tail_)) ^ size_) + high;
    high = Avalanche(high + low);
    low = Avalanche(low) + high;
    return {low, high + low};
  }

  Murmur3Hash FinishWith(uint8_t byte) const {
    Murmur3 longer = *this;
    const size_t used = longer.size_++ % kBlockSize;
    longer.tail_[used] = byte;
    if (used + 1 == kBlockSize) {
      longer.MixBlock(longer.tail_);
      std::memset(longer.tail_, 0, kBlockSize);
    }
    return longer.Finish();
  }

 private:
  static constexpr size_t kBlockSize = 16;
  static constexpr uint64_t kMultiplier1 = 0x87c37b91114253d5;
  static constexpr uint64_t kMultiplier2 = 0x4cf5ad432745937f;

  static uint64_t RotateLeft(uint64_t value, unsigned bits) {
    return value << bits | value >> (64 - bits);
  }
  static uint64_t MixWord1(uint64_t word) {
    return RotateLeft(word * kMultiplier1, 31) * kMultiplier2;
  }
  static uint64_t MixWord2(uint64_t word) {
    return RotateLeft(word * kMultiplier2, 33) * kMultiplier1;
  }
  static uint64_t Avalanche(uint64_t x) {
    x = (x ^ (x >> 33)) * 0xff51afd7ed558ccd;
    x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53;
    return x ^ (x >> 33);
  }

  void MixBlock(const unsigned char* block) {
    low_ ^= MixWord1(LoadFixed64(block));
    low_ = (RotateLeft(low_, 27) + high_) * 5 + 0x52dce729;
    high_ ^= MixWord2(LoadFixed64(block + 8));
    high_ = (RotateLeft(high_, 31) + low_) * 5 + 0x38495ab5;
  }

  uint64_t low_ = 0;
  uint64_t high_ = 0;
  uint64_t size_;
  // The bytes after the last whole block, then zeros.
  unsigned char tail_[kBlockSize] = {};
};

// A divisor that is used many times: `n % divisor` without a division.
class Divisor {
 public:
  // `value` is at least 1.
  explicit Divisor(uint64_t value)
      : value_(value), reciprocal_(UINT64_MAX / value) {}

  friend uint64_t operator%(uint64_t n, const Divisor& divisor) {
    // The quotient is exact or one too small: the reciprocal is less than
    // 2^64 / value by at most 1, and n is less than 2^64.
    const uint64_t quotient = Multiply128(n, divisor.reciprocal_).high;
    const uint64_t rest = n - quotient * divisor.value_;
    return rest >= divisor.value_ ? rest - divisor.value_ : rest;
  }

 private:
  uint64_t value_;
  uint64_t reciprocal_;
};

// The bits of the schemes: `bits` is a number, or a Divisor, of at least 1.
//
// Guava's strategy MURMUR128_MITZ_32: probe 0 .. k-1 of the key with this hash.
// It is computed in 32 bits, so no offset is beyond 2^31 - 1.
template <typename Bits>
uint64_t GuavaMitz32Offset(const Murmur3Hash& hash, uint32_t probe,
                           const Bits& bits) {
  const auto hash1 = static_cast<uint32_t>(hash.low);
  const auto hash2 = static_cast<uint32_t>(hash.low >> 32);
  const uint32_t combined = hash1 + (probe + 1) * hash2;
  const bool negative = combined >> 31 != 0;
  return uint64_t{negative ? ~combined : combined} % bits;
}

// Guava's strategy MURMUR128_MITZ_64: probe 0 .. k-1 of the key with this hash.
template <typename Bits>
uint64_t GuavaMitz64Offset(const Murmur3Hash& hash, uint32_t probe,
                           const Bits& bits) {
  const uint64_t combined = hash.low + probe * hash.high;
  return (combined & INT64_MAX) % bits;
}

// Scheme go-murmur3: the key is hashed anew for each probe, with the probe's
// number as a byte after it.
template <typename Bits>
uint64_t GoMurmur3Offset(const Murmur3& key, uint8_t probe, const Bits& bits) {
  return key.FinishWith(probe).low % bits;
}

// BloomFilter.optimalNumOfBits: -n ln p / ln^2 2, truncated. As Java's cast
// does, what is beyond INT64_MAX becomes INT64_MAX.
uint64_t GuavaBits(uint64_t insertions, double rate);

// BloomFilter.optimalNumOfHashFunctions, for those bits.
uint32_t GuavaHashFunctions(const GuavaFilterOptions& options, uint64_t bits);

}  // namespace deltabloom::internal
