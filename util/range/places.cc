#include "util/range/places.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "util/range/bytes.h"
#include "util/range/place.h"

namespace deltabloom::internal::range {

Places::Places(std::vector<Place> places, const Limits& limits)
    : places_(std::move(places)), limits_(limits) {
  assert(places_.size() <= kMost && limits.delimiters <= kMaxDelimiters);
  kind_of_byte_.fill(kNoDelimiter);
  for (size_t i = 0; i < places_.size(); ++i) {
    const uint32_t bit = uint32_t{1} << i;
    switch (places_[i].kind) {
      case Place::Kind::kLength:
        lengths_ |= bit;
        break;
      case Place::Kind::kFunction:
        functions_ |= bit;
        break;
      case Place::Kind::kEach:
      case Place::Kind::kCounted: {
        uint8_t& kind = kind_of_byte_[places_[i].byte];
        if (kind == kNoDelimiter) kind = kinds_++;
        only_delimiter_ = static_cast<char>(places_[i].byte);
        of_kind_[kind] |= bit;
        most_behind_ = std::max<size_t>(most_behind_, places_[i].bits);
      }
    }
  }
}

void Places::FindDelimiters(std::string_view text, size_t shared,
                            Found* found) const {
  for (; found->size > 0; --found->size) {
    const Found::Delimiter& last = found->delimiters[found->size - 1];
    if (last.at < shared) break;
    --found->counts[last.kind];
  }
  for (size_t at = FindDelimiter(text, shared); at < text.size();
       at = FindDelimiter(text, at + 1)) {
    const uint8_t kind = kind_of_byte_[ByteAt(text, at)];
    if (found->counts[kind] == limits_.delimiters) continue;
    found->delimiters[found->size++] = {static_cast<uint16_t>(at), kind,
                                        ++found->counts[kind]};
  }
}

std::vector<size_t> Places::EndsOf(const Place& place,
                                   std::string_view text) const {
  std::vector<size_t> ends;
  const size_t start = place.bits / 8;
  if (text.size() < start) return ends;
  text.remove_prefix(start);
  place.function->prefix.function(text, &ends);
  size_t last = 0;
  for (const size_t end : ends) {
    if (end <= last || end > text.size()) {
      throw std::invalid_argument("the ends of prefix function " +
                                  place.function->text + " do not ascend");
    }
    last = end;
  }
  return ends;
}

}  // namespace deltabloom::internal::range
