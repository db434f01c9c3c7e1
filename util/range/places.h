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

// The limits up to which places are looked for.
struct Limits {
  size_t delimiters = kMaxDelimiters;  // of each byte
  size_t bytes = kMaxPlaceBytes;

  bool operator==(const Limits& other) const {
    return delimiters == other.delimiters && bytes == other.bytes;
  }
};

// Thread-safe.
class Places {
 public:
  // The most places that it can find at a time: those of writers that collect
  // candidates.
  static constexpr size_t kMost = 32;

  // The delimiters of a text, up to the limit of each byte.
  struct Found {
    struct Delimiter {
      uint16_t at;
      uint8_t kind;   // which of the delimiters
      uint8_t count;  // which one of its kind
    };
    size_t size = 0;
    std::array<Delimiter, kMost * kMaxDelimiters> delimiters;
    std::array<uint8_t, kMost> counts{};  // of each kind
  };

  // REQUIRES: no more than kMost places, and no more than kMaxDelimiters.
  explicit Places(std::vector<Place> places = {}, const Limits& limits = {});

  const std::vector<Place>& places() const { return places_; }

  // Calls fn(i, bits) for prefixes of `whole` that end at the i-th place;
  // `bits` is their size. Those of at most *wanted bits are left out; fn may
  // raise it. Only a window may end after the end of `whole`; it starts within
  // it. Throws what a function throws, or std::invalid_argument if its ends do
  // not ascend.
  //
  // With `found` delimiters are looked for only after the first `shared` bytes.
  // REQUIRES: *found is new and `shared` is 0, or it is that of a text which
  // begins with the same `shared` bytes, whose call did not throw.
  template <typename Fn>
  void ForEach(std::string_view whole, const size_t* wanted, const Fn& fn,
               size_t shared = 0, Found* found = nullptr) const;

 private:
  static constexpr uint8_t kNoDelimiter = kMost;

  // Returns where in the text the next delimiter is, from `at` on; its size or
  // more if there is none.
  size_t FindDelimiter(std::string_view text, size_t at) const {
    if (kinds_ == 1) return text.find(only_delimiter_, at);
    while (at < text.size() && kind_of_byte_[ByteAt(text, at)] == kNoDelimiter)
      ++at;
    return at;
  }
  // Makes *found that of this text, which has no more bytes than limits_.
  void FindDelimiters(std::string_view text, size_t shared, Found* found) const;
  // Calls fn(delimiter) for those of the text from the last one on until it
  // returns false.
  template <typename Fn>
  void FromLastDelimiter(std::string_view text, const Fn& fn) const;
  // Returns the ends of the place's function in the text.
  std::vector<size_t> EndsOf(const Place& place, std::string_view text) const;

  std::vector<Place> places_;
  Limits limits_;
  uint32_t lengths_ = 0;     // the places that are lengths, one bit for each
  uint32_t functions_ = 0;   // those that are functions
  uint8_t kinds_ = 0;        // of delimiters
  char only_delimiter_ = 0;  // if there is one kind: it is found faster
  std::array<uint8_t, 256> kind_of_byte_;
  std::array<uint32_t, kMost> of_kind_{};  // the places of each kind
  size_t most_behind_ = 0;  // bits after a delimiter, of all places
};

// Calls fn with the number of each bit that is set.
template <typename Fn>
void ForEachBit(uint32_t bits, const Fn& fn) {
  for (; bits != 0; bits &= bits - 1) {
    fn(static_cast<size_t>(__builtin_ctz(bits)));
  }
}

template <typename Fn>
void Places::FromLastDelimiter(std::string_view text, const Fn& fn) const {
  std::array<uint16_t, kMost + 1> counts{};
  if (kinds_ == 1) {
    // Compilers make vector instructions of this loop.
    uint16_t count = 0;
    for (const char byte : text) {
      count = static_cast<uint16_t>(count + (byte == only_delimiter_ ? 1 : 0));
    }
    counts[0] = count;
  } else {
    for (const char byte : text) {
      ++counts[kind_of_byte_[static_cast<unsigned char>(byte)]];
    }
  }
  for (size_t at = text.size(); at-- > 0;) {
    const uint8_t kind = kind_of_byte_[ByteAt(text, at)];
    if (kind == kNoDelimiter) continue;
    const uint16_t count = counts[kind]--;
    if (count > limits_.delimiters) continue;
    if (!fn(Found::Delimiter{static_cast<uint16_t>(at), kind,
                             static_cast<uint8_t>(count)})) {
      return;
    }
  }
}

template <typename Fn>
void Places::ForEach(std::string_view whole, const size_t* wanted, const Fn& fn,
                     size_t shared, Found* found) const {
  const std::string_view text = whole.substr(0, limits_.bytes);
  const size_t most[] = {8 * text.size(), 8 * limits_.bytes};
  // Calls fn if the place with this end is one of the text, and wanted.
  const auto end_at = [&](size_t i, size_t bits) {
    if (bits > *wanted && bits <= most[places_[i].window ? 1 : 0]) fn(i, bits);
  };
  ForEachBit(lengths_, [&](size_t i) { end_at(i, places_[i].bits); });
  ForEachBit(functions_, [&](size_t i) {
    for (const size_t end : EndsOf(places_[i], whole)) {
      end_at(i, places_[i].bits + 8 * end);
    }
  });
  if (kinds_ == 0) return;
  // Returns false if all places at delimiters before it end too early.
  const auto at_delimiter = [&](const Found::Delimiter& delimiter) {
    const size_t end = 8 * (size_t{delimiter.at} + 1);
    ForEachBit(of_kind_[delimiter.kind], [&](size_t i) {
      const Place& place = places_[i];
      if (place.kind == Place::Kind::kEach || place.count == delimiter.count) {
        end_at(i, end + place.bits);
      }
    });
    return end + most_behind_ > *wanted + 8;
  };
  if (found == nullptr) {
    FromLastDelimiter(text, at_delimiter);
    return;
  }
  FindDelimiters(text, shared, found);
  size_t n = found->size;
  while (n > 0 && at_delimiter(found->delimiters[n - 1])) --n;
}

}  // namespace deltabloom::internal::range
