// Numbers as text, independent of the locale.
#ifndef DELTABLOOM_UTIL_NUMBER_TEXT_H_
#define DELTABLOOM_UTIL_NUMBER_TEXT_H_

#include <charconv>
#include <string>

namespace deltabloom::internal {

// The shortest text that reads back as the same number.
inline std::string NumberText(double number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), number).ptr};
}

// With this number of decimals.
inline std::string NumberText(double number, int decimals) {
  char text[400];  // the largest number has 309 digits
  return {text, std::to_chars(text, text + sizeof(text), number,
                              std::chars_format::fixed, decimals)
                    .ptr};
}

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_UTIL_NUMBER_TEXT_H_
