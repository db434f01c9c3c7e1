// Maps a key to the bytes that filters hash instead of it: the result of its
// key transform, a seeded hash of that, or both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "deltabloom/key_transform.h"
#include "table/framing.h"
#include "util/siphash.h"

namespace deltabloom::internal {

// A transform stays registered until the process ends.
struct RegisteredTransform {
  KeyTransform transform;
  std::string text;  // NAME@VERSION
  uint32_t id;       // in filters: docs/format.md, "Key transform"
};

inline constexpr char kNoTransform[] = "none";

// The transforms that are built in, and those that were added. What Find()
// returns lives as long as this object.
class KeyTransforms {
 public:
  KeyTransforms();

  // Returns what is wrong with it, or an empty string.
  std::string Add(const KeyTransform& transform);

  // The transform of "NAME@VERSION", or the one of "NAME" with the highest
  // version; null if there is none.
  const RegisteredTransform* Find(std::string_view text) const;
  const RegisteredTransform* Find(uint32_t id) const;

  // Returns the names of all in order: "ascii_lowercase@1,
  // trim_trailing_spaces@1".
  std::string Names() const;

 private:
  // The one with the highest version for which `fits` holds, or null.
  template <typename Fits>
  const RegisteredTransform* FindIf(Fits fits) const;

  // All registered transforms by name and version.
  std::map<std::pair<std::string, uint32_t>, RegisteredTransform> transforms_;
};

// These functions ask the transforms of TheProcess().
const RegisteredTransform* FindKeyTransform(std::string_view text);
const RegisteredTransform* FindKeyTransform(uint32_t id);
std::string KeyTransformNames();

// Returns false, and *seed stays, if there are no random bytes. There is no
// weaker source instead.
bool RandomSeed(SipHashKey* seed);

// Fills `size` bytes and returns true, or returns false.
using RandomSource = bool (*)(void* bytes, size_t size);

// Applies a key transform, a seed, both or neither.
class KeyMapping {
 public:
  // `transform` may be null; it replaces what `keys` says of a transform.
  KeyMapping(const RegisteredTransform* transform = nullptr,
             const HashedKeys& keys = {})
      : transform_(transform), keys_(keys) {
    keys_.transformed = transform != nullptr;
    keys_.transform_id = transform == nullptr ? 0 : transform->id;
  }

  // Returns the mapping as the trailer of a filter describes it.
  const HashedKeys& keys() const { return keys_; }

  // The memory for what Map returns if that is not a part of the key.
  struct Space {
    KeyScratch transformed;
    char seeded[kSeededKeySize];
  };

  // Returns a view of `key`, of *space, or of what the transform keeps. Throws
  // what the transform throws.
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
