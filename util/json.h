// Text for readers outside the process: JSON, numbers, and bytes quoted in
// messages.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace deltabloom::internal {

// The shortest text that reads back as the same number, in any locale.
inline std::string NumberText(double number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), number).ptr};
}

// With this number of decimals, in any locale.
inline std::string NumberText(double number, int decimals) {
  char text[400];  // the largest number has 309 digits
  return {text, std::to_chars(text, text + sizeof(text), number,
                              std::chars_format::fixed, decimals)
                    .ptr};
}

// Foreign bytes for a message, in single quotes and on one line: "\n", "\r",
// "\t", "\\", "\'", and "\x" with two hexadecimal digits for all other bytes
// that are not printable ASCII.
std::string Quote(std::string_view bytes);

// Writes one JSON value in one line. Commas are set by the writer; the caller
// keeps the order of calls: in an object a Key before each value.
class JsonWriter {
 public:
  JsonWriter& BeginObject() { return Open('{'); }
  JsonWriter& EndObject() { return Close('}'); }
  JsonWriter& BeginArray() { return Open('['); }
  JsonWriter& EndArray() { return Close(']'); }
  JsonWriter& Key(std::string_view name);
  // Bytes that are not printable ASCII are escaped as if they were Latin-1.
  JsonWriter& String(std::string_view bytes);
  // "null", or a number as text.
  JsonWriter& Literal(std::string_view text);
  JsonWriter& Number(uint64_t number) {
    return Literal(std::to_string(number));
  }
  // With this number of significant digits.
  JsonWriter& Number(double number, int digits);

  const std::string& text() const { return text_; }

 private:
  JsonWriter& Open(char bracket);
  JsonWriter& Close(char bracket);
  void Separate();

  std::string text_;
};

}  // namespace deltabloom::internal
