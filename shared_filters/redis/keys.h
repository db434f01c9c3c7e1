// The names of a filter's keys in Redis (docs/shared_filters.md, "Redis keys").
#ifndef DELTABLOOM_SHARED_FILTERS_REDIS_KEYS_H_
#define DELTABLOOM_SHARED_FILTERS_REDIS_KEYS_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace deltabloom::internal {

// Empty if a filter may have this name; else what is wrong.
std::string CheckName(std::string_view name);

// `key` and `suffix`, on the slot of `key`: "{key}suffix", or, if the key has a
// hash tag, "keysuffix".
std::string Companion(std::string_view key, std::string_view suffix);

// The names of one shard.
struct ShardKeys {
  std::string live;
  std::string descriptor;
  std::string rebuild;

  // Generation 0 is the live bitmap.
  std::string Generation(uint32_t generation) const;
  std::string Upload(std::string_view token) const;
};

ShardKeys MakeShardKeys(std::string_view name, uint32_t shard, uint32_t shards,
                        bool spread);

// The descriptor that a filter is opened by.
std::string RootDescriptor(std::string_view name);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_SHARED_FILTERS_REDIS_KEYS_H_
