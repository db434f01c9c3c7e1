// Cuts: monotone maps of keys to prefixes; and the prefixes of a range.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "util/range/range.h"

namespace deltabloom::internal::range {

// Prefixes lie within this many of the first bytes of a key.
inline constexpr size_t kMaxCutBytes = 1024;
inline constexpr unsigned kMaxCutBits = 8 * kMaxCutBytes;

inline constexpr size_t kMaxCuts = 16;
// A cut answers ranges whose keys have no more prefixes there.
inline constexpr uint64_t kMaxPrefixesPerRange = 8;

// The first `bits` bits of a key, padded with zeros to whole bytes, or, if
// `count` is not 0, the key up to and including the count-th `byte` and the
// `bits` bits after it, padded in the same way. Keys without that byte, and
// those whose prefix would end after kMaxCutBytes bytes, have no prefix.
struct Cut {
  uint8_t count = 0;
  uint8_t byte = 0;
  uint16_t bits = 0;

  bool operator==(const Cut& other) const {
    return count == other.count && bits == other.bits &&
           (count == 0 || byte == other.byte);
  }
};

// Cuts as text, as in RangeFilterOptions::range_prefixes. False, and *cuts
// undefined, if the text is not valid; kCutsSyntax says what is.
bool ParseCuts(std::string_view text, std::vector<Cut>* cuts);

inline constexpr char kCutsSyntax[] =
    "up to 16 prefixes, separated by commas: lengths in bytes (8) or bits "
    "(20b), at most 1024 bytes, or delimiters by how often they occur ('/'x3, "
    "or by their byte 0x2fx3), which can be followed by a length ('/'x3+8)";

std::string TextOf(const Cut& cut);

// Where the bits of the cut begin in `text`: after its count-th byte.
// std::string_view::npos if `text` has too few of them.
size_t BeginOf(const Cut& cut, std::string_view text);

// The prefix of a key, empty if it has none: in `bytes`, which has
// kMaxCutBytes, or a part of the key.
std::string_view PrefixOf(const Cut& cut, std::string_view key, char* bytes);

// The prefixes at a cut that keys in a range can have, one after the other.
class PrefixesOfRange {
 public:
  // `least_size`: no key is shorter. `range` must outlive this.
  PrefixesOfRange(const Cut& cut, const RangeView& range, size_t least_size);

  // False if there are more than kMaxPrefixesPerRange, or if keys in the range
  // need not have a prefix here.
  bool known() const { return known_; }
  uint64_t left() const { return left_; }
  // REQUIRES: left() > 0.
  std::string_view prefix() const { return prefix_; }
  void Next();

 private:
  size_t bits_ = 0;  // of each prefix
  bool known_ = false;
  uint64_t left_ = 0;
  std::string_view prefix_;
  char bytes_[kMaxCutBytes];
};

}  // namespace deltabloom::internal::range
