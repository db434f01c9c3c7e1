// The keys of a batch, wherever they lie.
#ifndef DELTABLOOM_UTIL_KEY_BATCH_H_
#define DELTABLOOM_UTIL_KEY_BATCH_H_

#include <cstddef>
#include <cstring>
#include <string_view>

#include "deltabloom/filter.h"

namespace deltabloom::internal {

// Keys looked up together; RocksDB asks for at most this many.
inline constexpr size_t kBatch = 32;

// A key as RocksDB's Slice lies in memory.
struct KeyBytes {
  const char* data;
  size_t size;
};

// What RocksDB's MultiGet hands over: an array of pointers to objects that lie
// in memory like KeyBytes. To copy them into an array of views first takes up
// to a sixth of the time of a lookup.
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
void MayMatchViews(const ParsedFilter& parsed, const std::string_view* keys,
                   size_t n, bool* may_match);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_UTIL_KEY_BATCH_H_
