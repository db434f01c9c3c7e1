// Prefixes of keys as filters hold them: by their hash.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "util/hash64.h"
#include "util/range/place.h"

namespace deltabloom::internal::range {

// Writes the first `bits` bits of the text, followed by zero bits, in whole
// bytes. Returns their number. REQUIRES: `bytes` has kMaxPlaceBytes, and these
// are enough.
inline size_t PaddedPrefix(std::string_view text, size_t bits, char* bytes) {
  assert(bits <= kMaxPlaceBits);
  const size_t whole = bits / 8;
  const size_t size = whole + (bits % 8 == 0 ? 0 : 1);
  std::fill_n(bytes, size, '\0');
  text.copy(bytes, size);
  if (size > whole) bytes[whole] &= static_cast<char>(0xff00 >> bits % 8);
  return size;
}

// Returns the hash of the first `bits` bits of the text, padded as above.
inline uint64_t HashOfPrefix(std::string_view text, size_t bits) {
  const size_t size = bits / 8;
  if (bits % 8 == 0 && size <= text.size()) return Hash64(text.substr(0, size));
  char bytes[kMaxPlaceBytes];
  return Hash64(bytes, PaddedPrefix(text, bits, bytes));
}

}  // namespace deltabloom::internal::range
