// Hash slots of Redis Cluster: which slot a key belongs to, and which server
// has it (the Redis Cluster specification).
#ifndef DELTABLOOM_SHARED_FILTERS_REDIS_SLOTS_H_
#define DELTABLOOM_SHARED_FILTERS_REDIS_SLOTS_H_

#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

#include "shared_filters/redis/errors.h"

struct redisReply;

namespace deltabloom::internal {

inline constexpr uint32_t kSlots = 16384;

// CRC-16/XMODEM.
uint16_t Crc16(std::string_view data);

// The part of a key that decides about its slot: what stands between the first
// '{' and the next '}', if that is anything; else all.
std::string_view HashTag(std::string_view key);

inline uint32_t SlotOf(std::string_view key) {
  return Crc16(HashTag(key)) % kSlots;
}

// A server's "MOVED 3999 127.0.0.1:6381" or "ASK ...". An empty host means the
// one that said it.
struct Redirection {
  bool ask = false;
  uint32_t slot = 0;
  Endpoint endpoint;
};

// False if `error` is no redirection.
bool ParseRedirection(std::string_view error, const Endpoint& from,
                      Redirection* redirection);

// Who has which slot, as far as is known. Thread-safe.
class SlotMap {
 public:
  // Takes the reply to CLUSTER SLOTS, which `from` gave. False, and nothing
  // changes, if it is none.
  bool Load(const redisReply* reply, const Endpoint& from);

  void Set(uint32_t slot, const Endpoint& endpoint);

  // False if nobody is known to have the slot.
  bool Find(uint32_t slot, Endpoint* endpoint) const;

  // Every server known.
  std::vector<Endpoint> Servers() const;

 private:
  uint16_t Index(const Endpoint& endpoint);

  static constexpr uint16_t kNobody = 0xffff;

  mutable std::mutex mutex_;
  std::vector<Endpoint> servers_;
  std::vector<uint16_t> owner_ = std::vector<uint16_t>(kSlots, kNobody);
};

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_SHARED_FILTERS_REDIS_SLOTS_H_
