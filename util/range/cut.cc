#include "util/range/cut.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "util/coding.h"
#include "util/range/key_store.h"
#include "util/range/range.h"

namespace deltabloom::internal::range {
namespace {

// Returns whether a key k < upper can have the prefix of `upper` at the first
// `bits` bits. Below `upper`, without the zero bytes at its end, no key has
// that prefix if its last bit set is one of those bits; between the two are
// only keys that are shorter than `upper`.
bool KeysBelowShare(std::string_view upper, size_t bits, size_t least_size) {
  const size_t end = upper.find_last_not_of('\0') + 1;
  if (end < upper.size() && least_size < upper.size()) return true;
  if (end == 0) return false;
  const int zeros = __builtin_ctz(ByteAt(upper, end - 1));
  return 8 * end - static_cast<unsigned>(zeros) > bits;
}

// The difference of the bounds' first `bits` bits, padded with zeros, as
// numbers; capped.
uint64_t Distance(const RangeView& range, size_t bits) {
  constexpr uint64_t kFar = kMaxPrefixesPerRange + 1;
  uint64_t difference = 0;  // of the bytes so far
  const size_t size = (bits + 7) / 8;
  for (size_t i = range.equal; i < size; ++i) {
    const unsigned kept =
        i + 1 < size ? 0xff : 0xff << (8 * size - bits) & 0xff;
    const auto byte = [&](std::string_view bound) {
      return i < bound.size() ? ByteAt(bound, i) & kept : 0;
    };
    difference = (difference << 8) + byte(range.upper) - byte(range.lower);
    // From 2 on it only grows.
    if (difference > kFar << 8) return kFar;
  }
  return std::min(difference >> (8 * size - bits), kFar);
}

// Takes an integer of at most `most` and at least 1 from the beginning.
bool TakeInteger(std::string_view* text, unsigned most, unsigned* integer) {
  const auto [end, error] =
      std::from_chars(text->data(), text->data() + text->size(), *integer);
  if (error != std::errc() || *integer == 0 || *integer > most) return false;
  text->remove_prefix(static_cast<size_t>(end - text->data()));
  return true;
}

bool TakeByte(std::string_view* text, uint8_t* byte) {
  if (text->size() >= 3 && text->front() == '\'' && (*text)[2] == '\'') {
    *byte = static_cast<uint8_t>((*text)[1]);
    text->remove_prefix(3);
    return true;
  }
  if (text->size() < 4 || text->substr(0, 2) != "0x") return false;
  const char* const end = text->data() + 4;
  if (std::from_chars(text->data() + 2, end, *byte, 16).ptr != end) {
    return false;
  }
  text->remove_prefix(4);
  return true;
}

// A number of bytes, or of bits if a b follows.
bool TakeLength(std::string_view* text, uint16_t* bits) {
  unsigned integer = 0;
  if (!TakeInteger(text, kMaxCutBits, &integer)) return false;
  const bool in_bits = !text->empty() && text->front() == 'b';
  if (in_bits) text->remove_prefix(1);
  if (!in_bits && integer > kMaxCutBytes) return false;
  *bits = static_cast<uint16_t>(in_bits ? integer : 8 * integer);
  return true;
}

bool TakeCut(std::string_view* text, Cut* cut) {
  if (!TakeByte(text, &cut->byte)) return TakeLength(text, &cut->bits);
  unsigned count = 1;
  if (!text->empty() && text->front() == 'x') {
    text->remove_prefix(1);
    if (!TakeInteger(text, 255, &count)) return false;
  }
  cut->count = static_cast<uint8_t>(count);
  if (text->empty() || text->front() != '+') return true;
  text->remove_prefix(1);
  return TakeLength(text, &cut->bits);
}

// The highest bit of each byte of the word that is `byte`.
uint64_t PlacesOf(uint8_t byte, uint64_t word) {
  constexpr uint64_t kLow = 0x7f7f7f7f7f7f7f7f;
  const uint64_t other = word ^ (uint64_t{0x0101010101010101} * byte);
  return ~(((other & kLow) + kLow) | other | kLow);
}

// The first `bits` bits of the key, padded with zeros: in `bytes`, or a part of
// the key.
std::string_view FirstBits(std::string_view key, size_t bits, char* bytes) {
  const size_t size = (bits + 7) / 8;
  if (bits % 8 == 0 && key.size() >= size) return key.substr(0, size);
  std::fill(bytes + key.copy(bytes, size), bytes + size, '\0');
  if (bits % 8 != 0) bytes[size - 1] &= static_cast<char>(0xff00 >> bits % 8);
  return {bytes, size};
}

}  // namespace

bool ParseCuts(std::string_view text, std::vector<Cut>* cuts) {
  cuts->clear();
  while (!text.empty()) {
    if (!TakeCut(&text, &cuts->emplace_back())) return false;
    if (text.empty()) break;
    if (text.front() != ',' || text.size() == 1) return false;
    text.remove_prefix(1);
  }
  return cuts->size() <= kMaxCuts;
}

std::string TextOf(const Cut& cut) {
  const std::string length = cut.bits % 8 == 0 ? std::to_string(cut.bits / 8)
                                               : std::to_string(cut.bits) + "b";
  if (cut.count == 0) return length;
  char byte[8];
  // Not what separates options in the files of engines.
  const bool printable = cut.byte > ' ' && cut.byte < 0x7f &&
                         std::strchr(";={}#\\", cut.byte) == nullptr;
  std::snprintf(byte, sizeof(byte), printable ? "'%c'" : "0x%02x", cut.byte);
  return byte + ("x" + std::to_string(cut.count)) +
         (cut.bits == 0 ? "" : "+" + length);
}

size_t BeginOf(const Cut& cut, std::string_view text) {
  if (cut.count == 0) return 0;
  text = text.substr(0, kMaxCutBytes);
  unsigned left = cut.count;
  size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {
    uint64_t places = PlacesOf(cut.byte, LoadFixed64(text.data() + at));
    for (; places != 0; places &= places - 1) {
      const auto place = static_cast<size_t>(__builtin_ctzll(places)) / 8;
      if (--left == 0) return at + place + 1;
    }
  }
  while (at < text.size()) {
    if (ByteAt(text, at++) == cut.byte && --left == 0) return at;
  }
  return std::string_view::npos;
}

std::string_view PrefixOf(const Cut& cut, std::string_view key, char* bytes) {
  const size_t begin = BeginOf(cut, key);
  if (begin == std::string_view::npos) return {};
  const size_t bits = 8 * begin + cut.bits;
  return bits > kMaxCutBits ? std::string_view() : FirstBits(key, bits, bytes);
}

PrefixesOfRange::PrefixesOfRange(const Cut& cut, const RangeView& range,
                                 size_t least_size) {
  // A delimiter must be a part of all keys.
  const size_t begin = BeginOf(cut, range.lower.substr(0, range.common));
  if (begin == std::string_view::npos) return;
  bits_ = 8 * begin + cut.bits;
  if (bits_ > kMaxCutBits) return;
  left_ = 1;
  if (8 * range.common < bits_) {
    left_ = Distance(range, bits_) +
            (KeysBelowShare(range.upper, bits_, least_size) ? 1 : 0);
    if (left_ > kMaxPrefixesPerRange) return;
  }
  prefix_ = FirstBits(range.lower, bits_, bytes_);
  known_ = true;
}

void PrefixesOfRange::Next() {
  if (--left_ == 0) return;
  if (prefix_.data() != bytes_) {
    prefix_.copy(bytes_, prefix_.size());
    prefix_ = {bytes_, prefix_.size()};
  }
  unsigned add = 1u << (8 * prefix_.size() - bits_);
  for (size_t i = prefix_.size(); i-- > 0 && add > 0;) {
    add += static_cast<unsigned char>(bytes_[i]);
    bytes_[i] = static_cast<char>(add);
    add >>= 8;
  }
}

}  // namespace deltabloom::internal::range
