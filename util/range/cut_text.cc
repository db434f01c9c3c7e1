#include "util/range/cut_text.h"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "util/range/cut.h"

namespace deltabloom::internal::range {
namespace {

// Each of these functions reads something from the beginning of *text and
// removes it there; false if *text does not begin so.

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

}  // namespace deltabloom::internal::range
