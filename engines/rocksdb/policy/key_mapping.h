// From the keys of RocksDB to the bytes that a layout hashes.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_POLICY_KEY_MAPPING_H_
#define DELTABLOOM_ENGINES_ROCKSDB_POLICY_KEY_MAPPING_H_

#include <string_view>

#include "engines/rocksdb/policy/key_transforms.h"
#include "table/framing.h"

namespace deltabloom::internal {

// A key transform, a seed, both or neither.
class KeyMapping {
 public:
  // `transform` may be null, and says what `keys` says of it.
  KeyMapping(const RegisteredTransform* transform, const HashedKeys& keys)
      : transform_(transform), keys_(keys) {
    keys_.transformed = transform != nullptr;
    keys_.transform_id = transform == nullptr ? 0 : transform->id;
  }
  KeyMapping() : KeyMapping(nullptr, HashedKeys()) {}

  // What the trailer says of it.
  const HashedKeys& keys() const { return keys_; }
  bool IsNeeded() const { return !keys_.AsTheyAre(); }

  // Where Map puts what is not part of the key.
  struct Space {
    KeyScratch transformed;
    char seeded[kSeededKeySize];
  };

  // A view of `key`, of *space, or of what the transform keeps. Throws what the
  // transform throws.
  std::string_view Map(std::string_view key, Space* space) const {
    if (transform_ != nullptr) {
      key = transform_->transform.function(key, &space->transformed);
    }
    if (!keys_.seeded) return key;
    SeededKey(keys_.seed, key, space->seeded);
    return {space->seeded, kSeededKeySize};
  }

 private:
  const RegisteredTransform* transform_;
  HashedKeys keys_;
};

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_POLICY_KEY_MAPPING_H_
