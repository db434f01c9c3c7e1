// Key transforms, for comparators that treat different bytes as equal. A key
// transform is a function that maps equal keys to the same bytes, and filters
// hash these bytes. Without it, under a comparator that ignores case, a filter
// with "Key" would reject "key". Every filter stores the transform it was built
// with, and a policy queries only filters that were built with the policy's own
// transform: docs/guide.md, "Key transforms".
#ifndef DELTABLOOM_KEY_TRANSFORM_H_
#define DELTABLOOM_KEY_TRANSFORM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "deltabloom/export.h"

namespace deltabloom {

// Memory for the result of a transform, if it is not a part of the key.
class KeyScratch {
 public:
  // Returns at least `size` bytes with any content, valid until the next call.
  char* Reserve(size_t size) {
    if (size <= sizeof(small_)) return small_;
    if (size > large_size_) {
      large_.reset(new char[size]);
      large_size_ = size;
    }
    return large_.get();
  }

 private:
  char small_[256];
  std::unique_ptr<char[]> large_;
  size_t large_size_ = 0;
};

struct KeyTransform {
  // Returns the bytes to hash instead of `key`: a view of the key, of what
  // *scratch reserved, or of bytes that live as long as the process.
  // - It takes any bytes, also those that are not keys: none, parts of keys,
  //   bounds of iterators. RocksDB strips its own timestamps first.
  // - Keys that are equal under the comparator give the same result. With a
  //   prefix extractor their prefixes do so, too, and either all of these keys
  //   are in the extractor's domain or none is.
  // - Many threads call it at the same time. It must not use RocksDB.
  // - If it throws, the filter being built or queried matches every key.
  using Function = std::function<std::string_view(std::string_view key,
                                                  KeyScratch* scratch)>;

  // The name: 1 to 64 letters, digits, '_', '-' and '.'; not "none".
  std::string name;
  // The version: 1 or more. Every change of the function's results needs a new
  // one.
  uint32_t version = 1;
  Function function;
};

// Registers a transform, under its name and version, until the process ends.
// Call it before a database is opened whose OPTIONS name it. Returns false,
// with one line in *error, which may be null, if a field is invalid, if name
// and version are registered already, or if another name and version have the
// same id (docs/format.md) by chance. Thread-safe.
//
// Version 1 of ascii_lowercase (A to Z become a to z) and trim_trailing_spaces
// (the bytes 0x20 at the end are dropped) are registered from the start.
DELTABLOOM_EXPORT bool RegisterKeyTransform(const KeyTransform& transform,
                                            std::string* error = nullptr);

}  // namespace deltabloom

#endif  // DELTABLOOM_KEY_TRANSFORM_H_
