#include "shared_filters/redis/keys.h"

#include "shared_filters/redis/errors.h"
#include "shared_filters/redis/slots.h"

namespace deltabloom::internal {
namespace {

constexpr size_t kMaxName = 1024;  // bytes
constexpr std::string_view kDescriptor = ":deltabloom";

bool HasHashTag(std::string_view key) {
  return HashTag(key).size() != key.size();
}

}  // namespace

std::string CheckName(std::string_view name) {
  if (name.empty()) return "name is empty";
  if (name.size() > kMaxName) {
    return "name has " + std::to_string(name.size()) +
           " bytes: it may have 1024";
  }
  if (!HasHashTag(name) && name.find('}') != name.npos) {
    return "name is '" + Printable(name) +
           "': without a hash tag it must have no '}', or its other keys could "
           "not be on the same slot";
  }
  if (name.front() == '{' && HashTag(name).size() + 2 == name.size()) {
    return "name is '" + Printable(name) +
           "': nothing but a hash tag, it would share its other keys with the "
           "filter named like the tag";
  }
  return "";
}

std::string Companion(std::string_view key, std::string_view suffix) {
  std::string name;
  if (HasHashTag(key)) {
    name = key;
  } else {
    name = '{' + std::string(key) + '}';
  }
  name += suffix;
  return name;
}

std::string ShardKeys::Generation(uint32_t generation) const {
  if (generation == 0) return live;
  return Companion(live, ":gen" + std::to_string(generation));
}

std::string ShardKeys::Upload(std::string_view token) const {
  return Companion(live, ":upload:" + std::string(token));
}

ShardKeys MakeShardKeys(std::string_view name, uint32_t shard, uint32_t shards,
                        bool spread) {
  ShardKeys keys;
  if (shards == 1) {
    keys.live = name;
  } else {
    const std::string suffix = ":shard" + std::to_string(shard);
    keys.live = spread ? '{' + std::string(name) + suffix + '}'
                       : Companion(name, suffix);
  }
  keys.descriptor = Companion(keys.live, kDescriptor);
  keys.rebuild = Companion(keys.live, ":rebuild");
  return keys;
}

std::string RootDescriptor(std::string_view name) {
  return Companion(name, kDescriptor);
}

}  // namespace deltabloom::internal
