// The names of a filter's keys (docs/shared_filters_format.md, "Keys"), and the
// slots of a Redis Cluster that they belong to.
#ifndef DELTABLOOM_SHARED_FILTERS_REDIS_KEYS_H_
#define DELTABLOOM_SHARED_FILTERS_REDIS_KEYS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shared_filters/redis/connection.h"

namespace deltabloom::internal {

inline constexpr uint32_t kSlots = 16384;

// CRC-16/XMODEM.
uint16_t Crc16(std::string_view data);

// The part of a key that determines its slot: what stands between the first '{'
// and the next '}', if that is not empty; else the whole key.
std::string_view HashTag(std::string_view key);

inline uint32_t SlotOf(std::string_view key) {
  return Crc16(HashTag(key)) % kSlots;
}

// A server's "MOVED 3999 127.0.0.1:6381" or "ASK ...". An empty host means the
// server that sent it.
struct Redirection {
  bool ask = false;
  uint32_t slot = 0;
  Endpoint endpoint;
};

// False if `error` is no redirection.
bool ParseRedirection(std::string_view error, const Endpoint& from,
                      Redirection* redirection);

// Reads the reply to CLUSTER SLOTS that `from` gave: the master of `slot`, if
// it has one (else *owner has port 0), and all servers. False if the reply is
// not one to CLUSTER SLOTS.
bool ParseSlots(const RedisReply& reply, const Endpoint& from, uint32_t slot,
                Endpoint* owner, std::vector<Endpoint>* servers);

// Empty if a filter may have this name; else what is wrong.
std::string CheckName(std::string_view name);

// `key` and `suffix`, in the slot of `key`: "{key}suffix", or, if the key has a
// hash tag, "keysuffix".
std::string Companion(std::string_view key, std::string_view suffix);

// The names of one shard.
struct ShardKeys {
  ShardKeys(std::string_view name, uint32_t shard, uint32_t shards);

  std::string live;
  std::string descriptor;
  std::string rebuild;

  std::string Upload(std::string_view token) const {
    return Companion(live, ":upload:" + std::string(token));
  }
};

// The descriptor that a filter is opened by.
std::string RootDescriptor(std::string_view name);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_SHARED_FILTERS_REDIS_KEYS_H_
