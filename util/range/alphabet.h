// Texts as strings of bits in the same order, a few bits per byte.
#ifndef DELTABLOOM_UTIL_RANGE_ALPHABET_H_
#define DELTABLOOM_UTIL_RANGE_ALPHABET_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace deltabloom::internal::range {

// Strings of bits end here.
inline constexpr unsigned kMaxDepth = 16384;

// Bits are numbered from the front: bit p is bit 63 - p % 64 of word p / 64.
// Behind the end of a text there are zeros.
class Alphabet {
 public:
  static constexpr size_t kSize = 32;  // a bit for each byte that occurs

  Alphabet() = default;
  explicit Alphabet(const unsigned char bits[kSize]);

  // Bits per byte.
  unsigned width() const { return width_; }
  // Of a byte that occurs; ascending with the byte. The end of a text is 0.
  unsigned CodeOf(char byte) const {
    return code_[static_cast<unsigned char>(byte)];
  }
  bool Occurs(char byte) const {
    return occurs_[static_cast<unsigned char>(byte)];
  }
  unsigned MostCode() const { return (1u << width_) - 1; }

 private:
  unsigned width_ = 8;
  // Of a byte that does not occur: of the next smaller one that does, or 0.
  std::array<uint16_t, 256> code_ = {};
  std::array<bool, 256> occurs_ = {};
};

// The bits of a text, made as far as they are asked for. Of texts that hold
// other bytes than occur:
//   kFrom   no text of bytes that occur, at it or behind it, has smaller bits;
//   kUpTo   none at it or in front of it has larger ones.
class TextBits {
 public:
  enum class Side { kFrom, kUpTo };

  TextBits(const Alphabet& alphabet, std::string_view text, Side side)
      : alphabet_(&alphabet), text_(text), side_(side) {}

  // REQUIRES: i < kMaxDepth / 64.
  uint64_t Word(unsigned i) {
    while (made_ <= i) MakeWord();
    return words_[i];
  }

 private:
  void MakeWord();
  unsigned NextCode();

  const Alphabet* alphabet_;
  std::string_view text_;
  Side side_;
  unsigned behind_ = 0;     // the code of what is not made of the text
  bool text_ends_ = false;  // nothing more of it counts
  size_t at_ = 0;
  unsigned left_code_ = 0;  // of the last code: bits for the next word
  unsigned left_bits_ = 0;
  unsigned made_ = 0;
  uint64_t words_[kMaxDepth / 64];
};

}  // namespace deltabloom::internal::range

#endif  // DELTABLOOM_UTIL_RANGE_ALPHABET_H_
