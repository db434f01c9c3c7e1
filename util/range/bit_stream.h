// Bits one after the other, the highest of a number first, and numbers as
// Golomb-Rice codes.
#ifndef DELTABLOOM_UTIL_RANGE_BIT_STREAM_H_
#define DELTABLOOM_UTIL_RANGE_BIT_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "util/coding.h"

namespace deltabloom::internal::range {

inline uint64_t ReverseBytes(uint64_t word) { return __builtin_bswap64(word); }

// Behind the end there are zeros; Left() tells.
class BitReader {
 public:
  explicit BitReader(std::string_view bytes) : bytes_(bytes) {}

  bool PastEnd() const { return at_ > 8 * bytes_.size(); }

  // The next bits, kPeekBits of them at least, from the highest on.
  static constexpr unsigned kPeekBits = 57;
  uint64_t Peek() const {
    const size_t byte = at_ / 8;
    uint64_t word = 0;
    if (byte + 8 <= bytes_.size()) {
      word = LoadFixed64(bytes_.data() + byte);
    } else {
      for (size_t i = byte; i < bytes_.size(); ++i) {
        word |= uint64_t{static_cast<unsigned char>(bytes_[i])}
                << (8 * (i - byte));
      }
    }
    return ReverseBytes(word) << (at_ % 8);
  }
  void Skip(unsigned n) { at_ += n; }

  // REQUIRES: n <= kPeekBits.
  uint64_t Take(unsigned n) {
    if (n == 0) return 0;
    const uint64_t bits = Peek() >> (64 - n);
    at_ += n;
    return bits;
  }

  // A number below 56 * 2^low_bits, or more for one that is too large.
  uint64_t TakeRice(unsigned low_bits) {
    const uint64_t ones = ~Peek() | 0xff;
    const auto high = static_cast<unsigned>(__builtin_clzll(ones));
    at_ += high + 1;
    return uint64_t{high} << low_bits | Take(low_bits);
  }

 private:
  std::string_view bytes_;
  size_t at_ = 0;  // in bits
};

// Numbers that a Rice code of so many low bits has.
inline constexpr uint64_t kMaxRiceOnes = 55;
inline constexpr unsigned kMaxRiceLowBits = 12;

// Appends to a string; what it holds at last only by Finish().
class BitWriter {
 public:
  explicit BitWriter(std::string* dst) : dst_(dst) {}

  // The lowest n bits. REQUIRES: n <= 63.
  void Put(uint64_t bits, unsigned n) {
    bits &= (uint64_t{1} << n) - 1;
    if (n <= 64 - used_) {
      used_ += n;
      word_ |= bits << (64 - used_) % 64;
      return;
    }
    const unsigned over = n - (64 - used_);
    AppendWord(word_ | bits >> over, 8);
    word_ = bits << (64 - over);
    used_ = over;
  }
  // REQUIRES: number >> low_bits <= kMaxRiceOnes.
  void PutRice(uint64_t number, unsigned low_bits) {
    const auto high = static_cast<unsigned>(number >> low_bits);
    Put((uint64_t{1} << (high + 1)) - 2, high + 1);
    Put(number, low_bits);
  }
  void Finish() {
    AppendWord(word_, (used_ + 7) / 8);
    word_ = 0;
    used_ = 0;
  }

 private:
  void AppendWord(uint64_t word, size_t size) {
    char bytes[8];
    StoreFixed64(bytes, ReverseBytes(word));
    dst_->append(bytes, size);
  }

  std::string* const dst_;
  uint64_t word_ = 0;  // bits from the highest on
  unsigned used_ = 0;  // of them
};

}  // namespace deltabloom::internal::range

#endif  // DELTABLOOM_UTIL_RANGE_BIT_STREAM_H_
