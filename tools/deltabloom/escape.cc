#include "tools/deltabloom/escape.h"

#include <cstdint>

namespace deltabloom::tools {
namespace {

// The length of the well-formed UTF-8 sequence in front (Unicode 15.0, table
// 3-7), and its character; 0, and *character stays, if there is none.
size_t DecodeUtf8(std::string_view bytes, uint32_t* character) {
  const auto byte = [&bytes](size_t i) {
    return static_cast<unsigned char>(bytes[i]);
  };
  if (byte(0) < 0x80) {
    *character = byte(0);
    return 1;
  }
  size_t size = 0;
  uint32_t least = 0;  // shorter sequences hold what is below
  if (byte(0) >> 5 == 0x06) {
    size = 2;
    least = 0x80;
  } else if (byte(0) >> 4 == 0x0e) {
    size = 3;
    least = 0x800;
  } else if (byte(0) >> 3 == 0x1e) {
    size = 4;
    least = 0x10000;
  }
  if (size == 0 || size > bytes.size()) return 0;
  uint32_t decoded = byte(0) & (0x7fu >> size);
  for (size_t i = 1; i < size; ++i) {
    if (byte(i) >> 6 != 2) return 0;
    decoded = decoded << 6 | (byte(i) & 0x3fu);
  }
  const bool surrogate = decoded >= 0xd800 && decoded <= 0xdfff;
  if (decoded < least || decoded > 0x10ffff || surrogate) return 0;
  *character = decoded;
  return size;
}

bool IsPlain(uint32_t character) {
  if (character < 0x20 || (character >= 0x7f && character <= 0x9f)) {
    return false;
  }
  switch (character) {
    case 0x061c:
    case 0x200b:
    case 0x200e:
    case 0x200f:
    case 0xfeff:
      return false;
    default:
      return !(character >= 0x2028 && character <= 0x202e) &&
             !(character >= 0x2066 && character <= 0x2069);
  }
}

}  // namespace

std::string Escaped(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    uint32_t character = 0;
    const size_t size = DecodeUtf8(bytes, &character);
    if (character == '\\') {
      text += "\\\\";
    } else if (size > 0 && IsPlain(character)) {
      text += bytes.substr(0, size);
    } else {
      for (size_t i = 0; i < (size > 0 ? size : 1); ++i) {
        const auto byte = static_cast<unsigned char>(bytes[i]);
        text += "\\x";
        text += kDigits[byte >> 4];
        text += kDigits[byte & 15];
      }
    }
    bytes.remove_prefix(size > 0 ? size : 1);
  }
  return text;
}

}  // namespace deltabloom::tools
