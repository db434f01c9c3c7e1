#include "util/range/cut.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "util/coding.h"
#include "util/range/bytes.h"

namespace deltabloom::internal::range {
namespace {

// Returns a word in which the highest bit of each byte is set where that byte
// of `word` is `byte`; all other bits are zero.
uint64_t PlacesOf(uint8_t byte, uint64_t word) {
  constexpr uint64_t kLow = 0x7f7f7f7f7f7f7f7f;
  const uint64_t other = word ^ (uint64_t{0x0101010101010101} * byte);
  return ~(((other & kLow) + kLow) | other | kLow);
}

}  // namespace

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

std::string_view FirstBits(std::string_view key, size_t bits, char* bytes) {
  const size_t size = (bits + 7) / 8;
  if (bits % 8 == 0 && key.size() >= size) return key.substr(0, size);
  std::fill(bytes + key.copy(bytes, size), bytes + size, '\0');
  if (bits % 8 != 0) bytes[size - 1] &= static_cast<char>(0xff00 >> bits % 8);
  return {bytes, size};
}

std::string_view PrefixOf(const Cut& cut, std::string_view key, char* bytes) {
  const size_t begin = BeginOf(cut, key);
  if (begin == std::string_view::npos) return {};
  const size_t bits = 8 * begin + cut.bits;
  return bits > kMaxCutBits ? std::string_view() : FirstBits(key, bits, bytes);
}

}  // namespace deltabloom::internal::range
