#include "util/range/declaration.h"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "util/range/functions.h"
#include "util/range/place.h"

namespace deltabloom::internal::range {
namespace {

// Each of these functions reads something from the beginning of *text and
// removes it there; false if *text does not begin so.

bool Take(char byte, std::string_view* text) {
  if (text->empty() || text->front() != byte) return false;
  text->remove_prefix(1);
  return true;
}

bool TakeInteger(std::string_view* text, size_t most, size_t* integer) {
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
bool TakeLength(std::string_view* text, Place* place) {
  size_t length = 0;
  if (!TakeInteger(text, kMaxPlaceBits, &length)) return false;
  place->window = Take('b', text);
  if (!place->window && length > kMaxPlaceBytes) return false;
  place->bits = static_cast<uint16_t>(place->window ? length : 8 * length);
  return true;
}

// The place of a delimiter that has been taken.
bool TakeCount(std::string_view* text, Place* place) {
  place->kind = Place::Kind::kEach;
  if (!Take('x', text)) return true;
  place->kind = Place::Kind::kCounted;
  size_t count = 0;
  if (!TakeInteger(text, kMaxDelimiters, &count)) return false;
  place->count = static_cast<uint8_t>(count);
  return !Take('+', text) || TakeLength(text, place);
}

// The rest of the place is the name of a function.
bool TakeFunction(FindFunction find, std::string_view* text, Place* place,
                  std::string_view* unknown) {
  const std::string_view name = text->substr(0, text->find(','));
  text->remove_prefix(name.size());
  place->kind = Place::Kind::kFunction;
  place->function = find(name);
  if (place->function == nullptr) *unknown = name;
  return place->function != nullptr;
}

bool TakePlace(FindFunction find, std::string_view* text, Place* place,
               std::string_view* unknown) {
  if (TakeByte(text, &place->byte)) return TakeCount(text, place);
  const char first = text->empty() ? '\0' : text->front();
  if ((first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z')) {
    return TakeFunction(find, text, place, unknown);
  }
  if (!TakeLength(text, place)) return false;
  if (place->window || !Take('+', text)) return true;
  return TakeFunction(find, text, place, unknown);
}

std::string TextOfByte(uint8_t byte) {
  char text[8];
  // Not what separates options in the files of engines, and no double quote,
  // which would end a text in RocksDB's LOG.
  const bool printable =
      byte > ' ' && byte < 0x7f && std::strchr(";={}#\\\"", byte) == nullptr;
  std::snprintf(text, sizeof(text), printable ? "'%c'" : "0x%02x", byte);
  return text;
}

std::string TextOfLength(const Place& place) {
  return place.window ? std::to_string(place.bits) + "b"
                      : std::to_string(place.bits / 8);
}

}  // namespace

bool ParseDeclaration(std::string_view text, FindFunction find,
                      std::vector<Place>* places, std::string_view* unknown) {
  places->clear();
  *unknown = {};
  do {
    if (places->size() == kMaxPlaces) return false;
    if (!TakePlace(find, &text, &places->emplace_back(), unknown)) return false;
  } while (Take(',', &text));
  return text.empty();
}

std::string TextOf(const Place& place) {
  switch (place.kind) {
    case Place::Kind::kLength:
      return TextOfLength(place);
    case Place::Kind::kEach:
      return TextOfByte(place.byte);
    case Place::Kind::kCounted:
      return TextOfByte(place.byte) + "x" + std::to_string(place.count) +
             (place.bits == 0 ? "" : "+" + TextOfLength(place));
    case Place::Kind::kFunction:
      break;
  }
  return (place.bits == 0 ? "" : TextOfLength(place) + "+") +
         place.function->text;
}

std::string TextOf(const std::vector<Place>& places) {
  std::string text;
  for (const Place& place : places) {
    text += (text.empty() ? "" : ",") + TextOf(place);
  }
  return text;
}

}  // namespace deltabloom::internal::range
