#include "engines/rocksdb/base/key_transforms.h"

#include <unistd.h>

#include <atomic>
#include <map>
#include <utility>

#include "engines/rocksdb/base/process_wide.h"
#include "util/hash64.h"
#include "util/json.h"

namespace deltabloom::internal {
namespace {

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

// All registered transforms by name and version.
struct Transforms
    : std::map<std::pair<std::string, uint32_t>, RegisteredTransform> {
  Transforms() {
    Add({"ascii_lowercase", 1, AsciiLowercase});
    Add({"trim_trailing_spaces", 1, TrimTrailingSpaces});
  }

  // Returns what is wrong with it, or an empty string.
  std::string Add(const KeyTransform& transform) {
    const std::string& name = transform.name;
    if (name.empty() || name.size() > kMaxNameSize || name == kNoTransform ||
        name.find_first_not_of(kNameBytes) != name.npos) {
      return "key transform: the name " + Quote(name) +
             " is not legal: use 1 to 64 letters, digits, '_', '-' and '.', "
             "not 'none'";
    }
    if (transform.version == 0) {
      return "key transform " + name +
             ": version 0 is not legal: use 1 or more";
    }
    if (!transform.function) return "key transform " + name + ": no function";
    const std::string text = name + "@" + std::to_string(transform.version);
    const RegisteredTransform added{transform, text,
                                    static_cast<uint32_t>(Hash64(text))};
    for (const auto& [key, other] : *this) {
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
    emplace(std::pair(name, transform.version), added);
    return {};
  }
};

// The one with the highest version for which `fits` holds, or null.
template <typename Fits>
const RegisteredTransform* Find(Fits fits) {
  ProcessWide<Transforms> transforms;
  const RegisteredTransform* found = nullptr;
  for (const auto& [key, registered] : *transforms) {
    if (fits(registered)) found = &registered;
  }
  return found;
}

bool SystemRandom(void* bytes, size_t size) {
  return getentropy(bytes, size) == 0;
}

std::atomic<RandomSource> random_source{SystemRandom};

}  // namespace

const RegisteredTransform* FindKeyTransform(std::string_view text) {
  return Find([text](const RegisteredTransform& registered) {
    return registered.text == text || registered.transform.name == text;
  });
}

const RegisteredTransform* FindKeyTransform(uint32_t id) {
  return Find([id](const RegisteredTransform& registered) {
    return registered.id == id;
  });
}

std::string KeyTransformNames() {
  ProcessWide<Transforms> transforms;
  std::string names;
  for (const auto& [key, registered] : *transforms) {
    names += (names.empty() ? "" : ", ") + registered.text;
  }
  return names;
}

bool RandomSeed(SipHashKey* seed) {
  unsigned char bytes[kSipHashKeySize];
  if (!random_source.load()(bytes, sizeof(bytes))) return false;
  *seed = LoadSipHashKey(bytes);
  return true;
}

void SetRandomSource(RandomSource source) {
  random_source = source == nullptr ? SystemRandom : source;
}

}  // namespace deltabloom::internal

namespace deltabloom {

bool RegisterKeyTransform(const KeyTransform& transform, std::string* error) {
  const std::string wrong =
      internal::ProcessWide<internal::Transforms>()->Add(transform);
  if (wrong.empty()) return true;
  if (error != nullptr) *error = "deltabloom: " + wrong;
  return false;
}

}  // namespace deltabloom
