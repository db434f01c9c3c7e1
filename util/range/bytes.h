// The bytes of keys, and fields of bytes that are stored.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
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
  // In steps of 8 bytes, the last of which ends with the shorter text, so that
  // it may begin within the step before it.
  for (const size_t last = end - std::min<size_t>(end, 8); end >= 8;
       i = std::min(i + 8, last)) {
    const uint64_t difference =
        LoadFixed64(a.data() + i) ^ LoadFixed64(b.data() + i);
    if (difference != 0) {
      return i + static_cast<size_t>(__builtin_ctzll(difference)) / 8;
    }
    if (i == last) return end;
  }
  while (i < end && a[i] == b[i]) ++i;
  return i;
}

// Returns whether a is smaller than b in the order of bytes. `shared` is
// CommonPrefix(a, b).
inline bool IsSmaller(std::string_view a, std::string_view b, size_t shared) {
  return shared < b.size() &&
         (shared == a.size() || ByteAt(a, shared) < ByteAt(b, shared));
}

// Appends the lowest bytes of the number, the lowest first.
inline void AppendNumber(uint64_t number, size_t bytes, std::string* dst) {
  for (; bytes > 0; --bytes, number >>= 8) {
    dst->push_back(static_cast<char>(number & 255));
  }
}

// Takes fields from the front of bytes. All are empty or 0 from the first on
// that is not there.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  // Returns a number of `size` bytes.
  template <size_t size>
  uint64_t Number() {
    char bytes[8] = {};
    if (Has(size)) {
      std::copy_n(rest_.data(), size, bytes);
      rest_.remove_prefix(size);
    }
    return LoadFixed64(bytes);
  }
  // Returns a text that follows its size, a number of `size` bytes.
  template <size_t size>
  std::string_view Text() {
    const uint64_t text_size = Number<size>();
    if (!Has(text_size)) return {};
    const std::string_view text = rest_.substr(0, text_size);
    rest_.remove_prefix(text_size);
    return text;
  }

  bool ok() const { return ok_; }
  std::string_view rest() const { return rest_; }

 private:
  bool Has(uint64_t size) {
    if (size <= rest_.size()) return true;
    rest_ = {};
    ok_ = false;
    return false;
  }

  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace deltabloom::internal::range
