#include "engines/rocksdb/policy/key_transforms.h"

#include <sys/random.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "util/hash64.h"
#include "util/json.h"

namespace deltabloom::internal {
namespace {

constexpr size_t kMaxNameSize = 64;

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

bool IsNameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

// An empty string if it is legal.
std::string ErrorIn(const KeyTransform& transform) {
  const std::string& name = transform.name;
  if (name.empty() || name.size() > kMaxNameSize || name == kNoTransform ||
      !std::all_of(name.begin(), name.end(), IsNameByte)) {
    return "key transform: the name " + Quote(name) +
           " is not legal: use 1 to 64 letters, digits, '_', '-' and '.', "
           "not 'none'";
  }
  if (transform.version == 0) {
    return "key transform " + name + ": version 0 is not legal: use 1 or more";
  }
  if (!transform.function) return "key transform " + name + ": no function";
  return {};
}

class Registry {
 public:
  Registry() {
    Add({"ascii_lowercase", 1, AsciiLowercase});
    Add({"trim_trailing_spaces", 1, TrimTrailingSpaces});
  }

  std::string Add(const KeyTransform& transform) {
    std::string error = ErrorIn(transform);
    if (!error.empty()) return error;
    auto registered = std::make_unique<RegisteredTransform>();
    registered->transform = transform;
    registered->text = transform.name + "@" + std::to_string(transform.version);
    registered->id = KeyTransformId(registered->text);
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto same = by_id_.find(registered->id);
    if (same == by_id_.end()) {
      by_id_[registered->id] = std::move(registered);
      return {};
    }
    if (same->second->text == registered->text) {
      return "key transform " + registered->text +
             " is registered already: a function with other results needs "
             "another version";
    }
    return "key transform " + registered->text + " has the id of " +
           same->second->text + ", which is registered: use another name";
  }

  // The one with the highest version for which `fits` holds, or null.
  template <typename Fits>
  const RegisteredTransform* Find(Fits fits) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const RegisteredTransform* found = nullptr;
    for (const auto& [id, registered] : by_id_) {
      if (fits(*registered) &&
          (found == nullptr ||
           found->transform.version < registered->transform.version)) {
        found = registered.get();
      }
    }
    return found;
  }

  std::string Names() {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::map<std::pair<std::string, uint32_t>, std::string> sorted;
    for (const auto& [id, registered] : by_id_) {
      const KeyTransform& transform = registered->transform;
      sorted[{transform.name, transform.version}] = registered->text;
    }
    std::string names;
    for (const auto& [key, text] : sorted) {
      names += (names.empty() ? "" : ", ") + text;
    }
    return names;
  }

 private:
  std::mutex mutex_;
  std::map<uint32_t, std::unique_ptr<const RegisteredTransform>> by_id_;
};

// Never destroyed: filters may be queried while static objects are destroyed.
Registry& TheRegistry() {
  static auto& registry = *new Registry;
  return registry;
}

// Requests of this size are never answered in part.
bool SystemRandom(void* bytes, size_t size) {
  ssize_t got;
  do {
    got = getrandom(bytes, size, 0);
  } while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(size);
}

std::atomic<RandomSource> random_source{SystemRandom};

}  // namespace

uint32_t KeyTransformId(std::string_view text) {
  return static_cast<uint32_t>(Hash64(text));
}

const RegisteredTransform* FindKeyTransform(std::string_view text) {
  return TheRegistry().Find([text](const RegisteredTransform& registered) {
    return registered.text == text || registered.transform.name == text;
  });
}

const RegisteredTransform* FindKeyTransform(uint32_t id) {
  return TheRegistry().Find([id](const RegisteredTransform& registered) {
    return registered.id == id;
  });
}

std::string KeyTransformNames() { return TheRegistry().Names(); }

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
  const std::string wrong = internal::TheRegistry().Add(transform);
  if (wrong.empty()) return true;
  if (error != nullptr) *error = "deltabloom: " + wrong;
  return false;
}

}  // namespace deltabloom
