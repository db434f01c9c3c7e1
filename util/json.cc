#include "util/json.h"

#include <charconv>

namespace deltabloom::internal {
namespace {

bool IsPlain(char c) { return c >= ' ' && c <= '~' && c != '\\'; }

void AppendHex(char c, std::string* text) {
  constexpr char kDigits[] = "0123456789abcdef";
  *text += kDigits[static_cast<unsigned char>(c) >> 4];
  *text += kDigits[static_cast<unsigned char>(c) & 15];
}

}  // namespace

std::string Quote(std::string_view bytes) {
  std::string text = "'";
  for (const char c : bytes) {
    if (IsPlain(c) && c != '\'') {
      text += c;
      continue;
    }
    constexpr std::string_view kSpecial = "\n\r\t\\'", kLetters = "nrt\\'";
    const size_t special = kSpecial.find(c);
    text += '\\';
    if (special != std::string_view::npos) {
      text += kLetters[special];
    } else {
      text += 'x';
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
  for (const char c : bytes) {
    if (IsPlain(c) && c != '"') {
      text_ += c;
    } else {
      text_ += "\\u00";
      AppendHex(c, &text_);
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

JsonWriter& JsonWriter::Open(char bracket) {
  Separate();
  text_ += bracket;
  return *this;
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
