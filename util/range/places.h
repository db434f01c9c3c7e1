// Finds the places of keys: the ends of the prefixes that a declaration means.
// Writers find those of keys, and readers those of the bytes that all keys of a
// scan share, with the same function. docs/format.md, "Which prefixes".
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "util/range/bytes.h"
#include "util/range/place.h"

namespace deltabloom::internal::range {

// How far places are looked for.
struct Limits {
  size_t delimiters = kMaxDelimiters;  // of each byte
  size_t bytes = kMaxPlaceBytes;
};

// ForEach() changes what it keeps; not thread-safe.
class Places {
 public:
  // The most places that it can find at a time: those of writers that collect
  // candidates.
  static constexpr size_t kMost = 32;

  // REQUIRES: no more than kMost places.
  explicit Places(std::vector<Place> places, const Limits& limits = {});

  const std::vector<Place>& places() const { return places_; }

  // Calls fn(i, bits) for each end of a prefix of `text` at the i-th place, in
  // bits from the start of the text, that lies behind `shared` bytes. Only a
  // window may end behind the text; its start lies within it. Throws what a
  // function throws, or std::invalid_argument if its ends do not ascend; then
  // `shared` must be 0 in the next call.
  // REQUIRES: `shared` is 0, or what the text has in common with that of the
  // call before. So delimiters are looked for behind it only.
  template <typename Fn>
  void ForEach(std::string_view text, size_t shared, const Fn& fn);

  // Returns whether the text of the last call has the delimiter of the i-th
  // place.
  bool HasDelimiter(size_t i) const {
    return counts_[delimiter_of_byte_[places_[i].byte]] > 0;
  }

 private:
  static constexpr uint8_t kNoDelimiter = 0xff;

  // Sets ends_ to those of the place's function in the text.
  void CallFunction(const Place& place, std::string_view text);

  std::vector<Place> places_;
  Limits limits_;
  uint32_t lengths_ = 0;    // the places that are lengths, one bit for each
  uint32_t functions_ = 0;  // those that are functions
  size_t delimiters_ = 0;   // different ones
  std::array<uint8_t, 256> delimiter_of_byte_;  // its number
  std::array<uint32_t, kMost> of_delimiter_{};  // the places of each
  bool behind_delimiters_ = false;  // some place ends behind a delimiter
  std::vector<size_t> ends_;
  // The delimiters of the last text, each with the number of its kind that it
  // is, and how many of each kind there are.
  struct Found {
    uint16_t at;
    uint8_t delimiter;
    uint16_t count;
  };
  std::vector<Found> found_;
  std::array<uint16_t, kMost> counts_{};
};

// Calls fn with the number of each bit that is set.
template <typename Fn>
void ForEachBit(uint32_t bits, const Fn& fn) {
  for (; bits != 0; bits &= bits - 1) {
    fn(static_cast<size_t>(__builtin_ctz(bits)));
  }
}

template <typename Fn>
void Places::ForEach(std::string_view text, size_t shared, const Fn& fn) {
  // Calls fn if the place with this end is one of the text, and a new one.
  const auto end_at = [&](size_t i, size_t bits) {
    const size_t most = places_[i].window
                            ? limits_.bytes
                            : std::min(limits_.bytes, text.size());
    if (bits > 8 * shared && bits <= 8 * most) fn(i, bits);
  };
  ForEachBit(lengths_, [&](size_t i) { end_at(i, places_[i].bits); });
  ForEachBit(functions_, [&](size_t i) {
    CallFunction(places_[i], text);
    for (const size_t end : ends_) end_at(i, places_[i].bits + 8 * end);
  });
  if (delimiters_ == 0) return;
  const auto at_delimiter = [&](const Found& found) {
    if (found.count > limits_.delimiters) return;
    ForEachBit(of_delimiter_[found.delimiter], [&](size_t i) {
      const Place& place = places_[i];
      if (place.kind == Place::Kind::kEach || place.count == found.count) {
        end_at(i, 8 * (size_t{found.at} + 1) + place.bits);
      }
    });
  };
  for (; !found_.empty() && found_.back().at >= shared; found_.pop_back()) {
    --counts_[found_.back().delimiter];
  }
  if (behind_delimiters_) {
    for (const Found& found : found_) at_delimiter(found);
  }
  const size_t most = std::min(limits_.bytes, text.size());
  for (size_t at = shared; at < most; ++at) {
    const uint8_t delimiter = delimiter_of_byte_[ByteAt(text, at)];
    if (delimiter == kNoDelimiter) continue;
    const uint16_t count = ++counts_[delimiter];
    found_.push_back({static_cast<uint16_t>(at), delimiter, count});
    at_delimiter(found_.back());
  }
}

}  // namespace deltabloom::internal::range
