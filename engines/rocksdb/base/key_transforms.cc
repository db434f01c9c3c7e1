#include "engines/rocksdb/base/key_transforms.h"

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "deltabloom/key_transform.h"
#include "engines/rocksdb/base/process.h"
#include "util/hash64.h"
#include "util/json.h"
#include "util/siphash.h"

namespace deltabloom::internal {
namespace {

// deltabloom/key_transform.h has the same limit.
constexpr size_t kMaxNameSize = 64;
constexpr char kNameBytes[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";

std::string_view AsciiLowercase(std::string_view key, KeyScratch* scratch) {
  char* const lower = scratch->Reserve(key.size());
  for (size_t i = 0; i < key.size(); ++i) {
    const bool upper = key[i] >= 'A' && key[i] <= 'Z';
    lower[i] = static_cast<char>(upper ? key[i] + ('a' - 'A') : key[i]);
  }
  return {lower, key.size()};
}

std::string_view TrimTrailingSpaces(std::string_view key, KeyScratch*) {
  return key.substr(0, key.find_last_not_of(' ') + 1);
}

}  // namespace

KeyTransforms::KeyTransforms() {
  Add({"ascii_lowercase", 1, AsciiLowercase});
  Add({"trim_trailing_spaces", 1, TrimTrailingSpaces});
}

std::string KeyTransforms::Add(const KeyTransform& transform) {
  const std::string& name = transform.name;
  if (name.empty() || name.size() > kMaxNameSize || name == kNoTransform ||
      name.find_first_not_of(kNameBytes) != std::string::npos) {
    return "key transform: the name " + Quote(name) +
           " is not legal: use 1 to 64 letters, digits, '_', '-' and '.', "
           "not 'none'";
  }
  if (transform.version == 0) {
    return "key transform " + name + ": version 0 is not legal: use 1 or more";
  }
  if (!transform.function) return "key transform " + name + ": no function";
  const std::string text = name + "@" + std::to_string(transform.version);
  const RegisteredTransform added{transform, text,
                                  static_cast<uint32_t>(Hash64(text))};
  for (const auto& [key, other] : transforms_) {
    if (other.text == text) {
      return "key transform " + text +
             " is registered already: a function with other results needs "
             "another version";
    }
    if (other.id == added.id) {
      return "key transform " + text + " has the id of " + other.text +
             ", which is registered: use another name";
    }
  }
  transforms_.emplace(std::pair(name, transform.version), added);
  return {};
}

template <typename Fits>
const RegisteredTransform* KeyTransforms::FindIf(Fits fits) const {
  const RegisteredTransform* found = nullptr;
  for (const auto& [key, registered] : transforms_) {
    if (fits(registered)) found = &registered;
  }
  return found;
}

const RegisteredTransform* KeyTransforms::Find(std::string_view text) const {
  return FindIf([text](const RegisteredTransform& registered) {
    return registered.text == text || registered.transform.name == text;
  });
}

const RegisteredTransform* KeyTransforms::Find(uint32_t id) const {
  return FindIf([id](const RegisteredTransform& registered) {
    return registered.id == id;
  });
}

std::string KeyTransforms::Names() const {
  std::string names;
  for (const auto& [key, registered] : transforms_) {
    names += (names.empty() ? "" : ", ") + registered.text;
  }
  return names;
}

const RegisteredTransform* FindKeyTransform(std::string_view text) {
  return TheProcess().transforms.Lock()->Find(text);
}

const RegisteredTransform* FindKeyTransform(uint32_t id) {
  return TheProcess().transforms.Lock()->Find(id);
}

std::string KeyTransformNames() {
  return TheProcess().transforms.Lock()->Names();
}

bool RandomSeed(SipHashKey* seed) {
  const RandomSource source = TheProcess().random_source;
  unsigned char bytes[kSipHashKeySize];
  const bool filled = source == nullptr ? getentropy(bytes, sizeof(bytes)) == 0
                                        : source(bytes, sizeof(bytes));
  if (filled) *seed = LoadSipHashKey(bytes);
  return filled;
}

}  // namespace deltabloom::internal

namespace deltabloom {

bool RegisterKeyTransform(const KeyTransform& transform, std::string* error) {
  const std::string wrong =
      internal::TheProcess().transforms.Lock()->Add(transform);
  if (wrong.empty()) return true;
  if (error != nullptr) *error = "deltabloom: " + wrong;
  return false;
}

}  // namespace deltabloom
