// The keys of a batch lookup.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "util/parsed_filter.h"

namespace deltabloom::internal {

// Keys looked up together; the most that RocksDB passes at a time.
inline constexpr size_t kBatch = 32;

// A key as RocksDB's Slice lies in memory.
struct KeyBytes {
  const char* data;
  size_t size;
};

// The keys of a batch as RocksDB's MultiGet passes them: an array of pointers
// to objects that lie in memory like KeyBytes. Copying them into an array of
// views first would take up to a sixth of the time of a lookup.
class KeyBatch {
 public:
  // `pointers`: the array. Its bytes are copied, so the objects' type does not
  // matter.
  explicit KeyBatch(const void* pointers)
      : pointers_(static_cast<const char*>(pointers)) {}

  std::string_view operator[](size_t i) const {
    const void* object;
    std::memcpy(&object, pointers_ + i * sizeof(object), sizeof(object));
    KeyBytes key;
    std::memcpy(&key, object, sizeof(key));
    return {key.data, key.size};
  }

  // The keys from the i-th on.
  KeyBatch From(size_t i) const {
    return KeyBatch(pointers_ + i * sizeof(const void*));
  }

 private:
  const char* pointers_;
};

// parsed.may_match_many for keys that lie in an array.
inline void MayMatchViews(const ParsedFilter& parsed,
                          const std::string_view* keys, size_t n,
                          bool* may_match) {
  KeyBytes bytes[kBatch];
  const KeyBytes* pointers[kBatch];
  for (size_t begin = 0; begin < n; begin += kBatch) {
    const size_t batch = std::min(kBatch, n - begin);
    for (size_t i = 0; i < batch; ++i) {
      bytes[i] = {keys[begin + i].data(), keys[begin + i].size()};
      pointers[i] = &bytes[i];
    }
    parsed.may_match_many(parsed, KeyBatch(pointers), batch, may_match + begin);
  }
}

}  // namespace deltabloom::internal
