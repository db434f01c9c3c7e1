// Text for readers outside the process: UTF-8, JSON, numbers, and bytes quoted
// in messages.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

namespace deltabloom::internal {

// The shortest text that reads back as the same number, in any locale.
inline std::string NumberText(double number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), number).ptr};
}

// Prints the number with this number of decimals, in any locale.
inline std::string NumberText(double number, int decimals) {
  char text[400];  // the largest number has 309 digits
  return {text, std::to_chars(text, text + sizeof(text), number,
                              std::chars_format::fixed, decimals)
                    .ptr};
}

// Returns whether the text is a number, in any locale. If not, *number does not
// change.
template <typename Number>
bool ParseNumber(std::string_view text, Number* number) {
  const char* const end = text.data() + text.size();
  Number parsed{};
  const auto [next, error] = std::from_chars(text.data(), end, parsed);
  if (error != std::errc() || next != end) return false;
  *number = parsed;
  return true;
}

// Returns the length of the well-formed UTF-8 sequence (Unicode 15.0, table
// 3-7) at the start of `bytes`, which are not empty, and sets *character to
// what it encodes; 0, and *character stays, if there is none.
size_t DecodeUtf8(std::string_view bytes, uint32_t* character);

// The text, with U+FFFD for each byte that is not UTF-8.
std::string Utf8Of(std::string_view bytes);

// Foreign bytes for a message, in single quotes and on one line: "\n", "\r",
// "\t", "\\", "\'", and "\x" with two hexadecimal digits for all other bytes
// that are not printable ASCII.
std::string Quote(std::string_view bytes);

// Writes one JSON value in one line. Commas are set by the writer; the caller
// keeps the order of calls: in an object a Key before each value.
class JsonWriter {
 public:
  JsonWriter& BeginObject() { return Literal("{"); }
  JsonWriter& EndObject() { return Close('}'); }
  JsonWriter& BeginArray() { return Literal("["); }
  JsonWriter& EndArray() { return Close(']'); }
  JsonWriter& Key(std::string_view name);
  JsonWriter& String(std::string_view bytes);  // as Utf8Of() has it
  // "null", or a number as text.
  JsonWriter& Literal(std::string_view text);
  JsonWriter& Number(uint64_t number) {
    return Literal(std::to_string(number));
  }
  // Prints the number with this number of significant digits.
  JsonWriter& Number(double number, int digits);

  const std::string& text() const { return text_; }

 private:
  JsonWriter& Close(char bracket);
  void Separate();

  std::string text_;
};

}  // namespace deltabloom::internal
