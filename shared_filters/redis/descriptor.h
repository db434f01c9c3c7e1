// What a filter is: the fields of its descriptor, a hash in Redis beside the
// bitmap (docs/shared_filters.md, "Redis descriptor").
#ifndef DELTABLOOM_SHARED_FILTERS_REDIS_DESCRIPTOR_H_
#define DELTABLOOM_SHARED_FILTERS_REDIS_DESCRIPTOR_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "shared_filters/redis/keys.h"
#include "shared_filters/redis/scheme.h"

struct redisReply;

namespace deltabloom::internal {

struct Descriptor {
  std::string name;
  std::string id;  // 16 hexadecimal digits; empty: adopted, has no descriptor
  Scheme scheme;
  uint32_t shards = 1;
  uint64_t shard_blocks = 0;  // local: blocks per shard, the last may have less
  bool spread = false;
  uint32_t generations = 1;
  std::chrono::milliseconds max_age{0};
  std::chrono::milliseconds expire_after{0};
  uint64_t expected_keys = 0;

  // Not the writer's to set.
  bool rebuilding = false;
  uint64_t rebuilds = 0;
  std::string moved_to;

  bool adopted() const { return id.empty(); }

  // Fields and values to store.
  std::vector<std::pair<std::string, std::string>> Fields() const;

  // Takes the reply to HGETALL. Empty, or what is wrong with it.
  std::string Parse(const std::string& filter_name, const redisReply& reply);

  // Blocks of a shard; 0 if not local.
  uint64_t BlocksOf(uint32_t shard) const;

  // The shard of a bit, and the bit's offset there.
  uint32_t ShardOf(uint64_t offset) const {
    if (shards == 1) return 0;
    return static_cast<uint32_t>(offset / kBlockBits / shard_blocks);
  }
  uint64_t OffsetInShard(uint64_t offset) const {
    if (shards == 1) return offset;
    return offset % (shard_blocks * kBlockBits);
  }

  // The bit that tells that a bitmap is whole, for a bit at `offset` of it.
  uint64_t MarkerOf(uint64_t offset) const {
    if (scheme.is_local()) return offset / kBlockBits * kBlockBits;
    return scheme.bits < kMaxRedisOffset ? scheme.bits : kMaxRedisOffset;
  }

  // The size of a shard's bitmap as a string, markers included.
  uint64_t StringBytes(uint32_t shard) const;

  ShardKeys KeysOf(uint32_t shard) const {
    return MakeShardKeys(name, shard, shards, spread);
  }
};

// 16 hexadecimal digits, never the same.
std::string RandomId();

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_SHARED_FILTERS_REDIS_DESCRIPTOR_H_
