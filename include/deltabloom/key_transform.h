// Key transforms: filters for comparators under which different bytes are
// equal.
//
// A filter hashes bytes. Under a comparator that ignores case, "Key" and "key"
// are one key, and a filter that was given one of them would turn the other
// away. A key transform maps keys that are equal to the same bytes, which are
// hashed instead:
//
//   deltabloom::KeyTransform transform;
//   transform.name = "drop_timestamp";
//   transform.function = [](std::string_view key, deltabloom::KeyScratch*) {
//     return key.substr(0, key.size() - std::min<size_t>(key.size(), 8));
//   };
//   deltabloom::RegisterKeyTransform(transform, &error);
//   options.key_transform = "drop_timestamp";   // RocksDBFilterOptions
//
// Every filter stores which transform it was built with, and a policy asks only
// filters of its own transform: docs/guide.md, "Key transforms".
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

// Room for what a transform returns, where it is not a part of the key.
class KeyScratch {
 public:
  // At least `size` bytes with any content. They stay until the next call.
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
  // What is hashed instead of `key`: a view of the key, of what *scratch
  // reserved, or of bytes that live as long as the process. The contract:
  //
  // - It takes any bytes, also those that are no key: none, parts of keys,
  //   bounds of iterators. RocksDB strips timestamps of its own before.
  // - Keys that the comparator calls equal give the same bytes. With a prefix
  //   extractor so do their prefixes, all or none of which are in its domain.
  // - The same bytes give the same bytes for ever; a function that answers
  //   otherwise is another version.
  // - Many threads call it at the same time. It must not use RocksDB.
  // - If it throws, the filter being built or asked matches every key.
  using Function = std::function<std::string_view(std::string_view key,
                                                  KeyScratch* scratch)>;

  // 1 to 64 letters, digits, '_', '-' and '.'; not "none".
  std::string name;

  // 1 or more; another for every change of what the function returns.
  uint32_t version = 1;

  Function function;
};

// Makes a transform known in this process, under name and version, until it
// ends. Call it before a database is opened whose OPTIONS name it. False, with
// one line in *error, which may be null, if name, version or function are not
// legal, name and version are registered already, or another name and version
// have the same id (docs/format.md), by chance. Thread-safe.
//
// Known from the start, both at version 1, after SQLite's collations NOCASE and
// RTRIM:
//
//   ascii_lowercase        A to Z become a to z
//   trim_trailing_spaces   without the spaces (0x20) at the end
DELTABLOOM_EXPORT bool RegisterKeyTransform(const KeyTransform& transform,
                                            std::string* error = nullptr);

}  // namespace deltabloom

#endif  // DELTABLOOM_KEY_TRANSFORM_H_
