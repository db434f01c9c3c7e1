#include "util/range/alphabet.h"

namespace deltabloom::internal::range {

Alphabet::Alphabet(const unsigned char bits[kSize]) {
  unsigned occurring = 0;
  for (unsigned byte = 0; byte < 256; ++byte) {
    occurs_[byte] = (bits[byte / 8] >> (byte % 8) & 1) != 0;
    if (occurs_[byte]) ++occurring;
    code_[byte] = static_cast<uint16_t>(occurring);
  }
  width_ = 1;
  while (occurring >> width_ != 0) ++width_;
}

inline unsigned TextBits::NextCode() {
  if (text_ends_ || at_ == text_.size()) return behind_;
  const char byte = text_[at_++];
  const unsigned code = alphabet_->CodeOf(byte);
  if (alphabet_->Occurs(byte)) return code;
  text_ends_ = true;
  if (side_ == Side::kUpTo) {
    behind_ = alphabet_->MostCode();
    return code;
  }
  // The next larger byte that occurs, or what no text reaches.
  if (code < alphabet_->MostCode()) return code + 1;
  behind_ = alphabet_->MostCode();
  return behind_;
}

void TextBits::MakeWord() {
  const unsigned width = alphabet_->width();
  uint64_t word = 0;
  unsigned room = 64;
  if (left_bits_ > 0) {
    room -= left_bits_;
    word = uint64_t{left_code_} << room;
  }
  left_bits_ = 0;
  while (room > 0) {
    const unsigned code = NextCode();
    if (width > room) {
      left_bits_ = width - room;
      word |= code >> left_bits_;
      left_code_ = code & ((1u << left_bits_) - 1);
      break;
    }
    room -= width;
    word |= uint64_t{code} << room;
  }
  words_[made_++] = word;
}

}  // namespace deltabloom::internal::range
