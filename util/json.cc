#include "util/json.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace deltabloom::internal {
namespace {

void AppendHex(char c, std::string* text) {
  constexpr char kDigits[] = "0123456789abcdef";
  *text += kDigits[static_cast<unsigned char>(c) >> 4];
  *text += kDigits[static_cast<unsigned char>(c) & 15];
}

}  // namespace

size_t DecodeUtf8(std::string_view bytes, uint32_t* character) {
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};  // by size
  const auto* const byte = reinterpret_cast<const unsigned char*>(bytes.data());
  const auto ones =
      static_cast<size_t>(__builtin_clz(~(uint32_t{byte[0]} << 24)));
  const size_t size = std::max<size_t>(ones, 1);
  if (ones == 1 || ones > 4 || size > bytes.size()) return 0;
  uint32_t decoded = byte[0] & (0x7fu >> ones);
  for (size_t i = 1; i < size; ++i) {
    if (byte[i] >> 6 != 2) return 0;
    decoded = decoded << 6 | (byte[i] & 0x3fu);
  }
  const bool surrogate = decoded >= 0xd800 && decoded <= 0xdfff;
  if (decoded < kLeast[size] || decoded > 0x10ffff || surrogate) return 0;
  *character = decoded;
  return size;
}

std::string Utf8Of(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    uint32_t ignored;
    const size_t size = DecodeUtf8(bytes, &ignored);
    text += size == 0 ? "\uFFFD" : bytes.substr(0, size);
    bytes.remove_prefix(std::max<size_t>(size, 1));
  }
  return text;
}

std::string Quote(std::string_view bytes) {
  std::string text = "'";
  for (const char c : bytes) {
    constexpr std::string_view kSpecial = "\n\r\t\\'", kLetters = "nrt\\'";
    const size_t special = kSpecial.find(c);
    if (special != std::string_view::npos) {
      text += {'\\', kLetters[special]};
    } else if (c >= ' ' && c <= '~') {
      text += c;
    } else {
      text += "\\x";
      AppendHex(c, &text);
    }
  }
  return text + '\'';
}

JsonWriter& JsonWriter::Key(std::string_view name) {
  String(name);
  text_ += ':';
  return *this;
}

JsonWriter& JsonWriter::String(std::string_view bytes) {
  Separate();
  text_ += '"';
  for (const char c : Utf8Of(bytes)) {
    if (static_cast<unsigned char>(c) < ' ' || c == '"' || c == '\\') {
      text_ += "\\u00";
      AppendHex(c, &text_);
    } else {
      text_ += c;
    }
  }
  text_ += '"';
  return *this;
}

JsonWriter& JsonWriter::Literal(std::string_view text) {
  Separate();
  text_ += text;
  return *this;
}

JsonWriter& JsonWriter::Number(double number, int digits) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof(text), number,
                                 std::chars_format::general, digits);
  return Literal({text, static_cast<size_t>(end.ptr - text)});
}

JsonWriter& JsonWriter::Close(char bracket) {
  text_ += bracket;
  return *this;
}

// A value, name or bracket follows.
void JsonWriter::Separate() {
  if (text_.empty()) return;
  const char last = text_.back();
  if (last != '{' && last != '[' && last != ':') text_ += ',';
}

}  // namespace deltabloom::internal
