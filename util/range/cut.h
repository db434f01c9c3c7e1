// Cuts: monotone maps of keys to prefixes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace deltabloom::internal::range {

// Prefixes lie within this many of the first bytes of a key, as docs/format.md
// ("Prefixes") says.
inline constexpr size_t kMaxCutBytes = 1024;
inline constexpr unsigned kMaxCutBits = 8 * kMaxCutBytes;

// The most cuts of a filter, by docs/format.md.
inline constexpr size_t kMaxCuts = 16;

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

// Returns where the bits of the cut begin in `text`: after its count-th byte.
// std::string_view::npos if `text` has too few of them.
size_t BeginOf(const Cut& cut, std::string_view text);

// Returns the first `bits` bits of a key, padded with zeros to whole bytes: in
// `bytes`, which has kMaxCutBytes, or a part of the key.
std::string_view FirstBits(std::string_view key, size_t bits, char* bytes);

// Returns the prefix of a key, empty if it has none: in `bytes`, which has
// kMaxCutBytes, or a part of the key.
std::string_view PrefixOf(const Cut& cut, std::string_view key, char* bytes);

}  // namespace deltabloom::internal::range
