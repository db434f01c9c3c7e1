// The bytes of keys.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "util/coding.h"

namespace deltabloom::internal::range {

inline unsigned char ByteAt(std::string_view text, size_t i) {
  return static_cast<unsigned char>(text[i]);
}

// Returns the number of bytes with which both texts begin.
inline size_t CommonPrefix(std::string_view a, std::string_view b) {
  const size_t end = std::min(a.size(), b.size());
  size_t i = 0;
  while (i + 8 <= end) {
    const uint64_t difference =
        LoadFixed64(a.data() + i) ^ LoadFixed64(b.data() + i);
    if (difference != 0) {
      return i + static_cast<size_t>(__builtin_ctzll(difference)) / 8;
    }
    i += 8;
    // The last step of 8 bytes ends with the shorter text, so it may begin
    // within the step before it.
    if (i < end && i + 8 > end) i = end - 8;
  }
  while (i < end && a[i] == b[i]) ++i;
  return i;
}

}  // namespace deltabloom::internal::range
