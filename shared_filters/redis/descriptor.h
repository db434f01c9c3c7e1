// What a filter is: the fields of its descriptor, a hash in Redis beside the
// bitmap (docs/shared_filters_format.md, "Descriptor").
#ifndef DELTABLOOM_SHARED_FILTERS_REDIS_DESCRIPTOR_H_
#define DELTABLOOM_SHARED_FILTERS_REDIS_DESCRIPTOR_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "deltabloom/redis_filter.h"
#include "shared_filters/redis/keys.h"
#include "shared_filters/redis/scheme.h"

namespace deltabloom::internal {

struct Descriptor {
  std::string name;
  std::string id;  // 16 hexadecimal digits; empty: adopted, has no descriptor
  Scheme scheme;
  uint32_t shards = 1;
  uint64_t shard_blocks = 0;  // of each shard but the last, if several
  bool own_writers_only = false;
  bool durable = false;
  std::chrono::milliseconds expire_after{0};
  uint64_t expected_keys = 0;

  // Set by scripts only.
  uint64_t rebuilds = 0;
  std::string moved_to;

  bool adopted() const { return id.empty(); }

  // Programs without Deltabloom may write the bitmap.
  bool has_other_writers() const {
    return adopted() || (!own_writers_only && !scheme.is_local());
  }

  // Fields and values to store.
  std::vector<std::pair<std::string, std::string>> Fields() const;

  // Takes the reply to HGETALL. Empty, or what is wrong with it.
  std::string Parse(const std::string& filter_name, const RedisReply& reply);

  ShardKeys Keys(uint32_t shard) const { return {name, shard, shards}; }

  // Blocks of a shard; 0 if not local.
  uint64_t BlocksOf(uint32_t shard) const {
    const uint64_t blocks = scheme.is_local() ? scheme.bits / kBlockBits : 0;
    if (shards == 1) return blocks;
    return std::min(shard_blocks, blocks - shard * shard_blocks);
  }

  // The shard of a bit, and the bit's offset there.
  uint32_t ShardOf(uint64_t offset) const {
    if (shards == 1) return 0;
    return static_cast<uint32_t>(offset / kBlockBits / shard_blocks);
  }
  uint64_t OffsetInShard(uint64_t offset) const {
    if (shards == 1) return offset;
    return offset % (shard_blocks * kBlockBits);
  }

  // The marker that vouches for the bit at `offset` of a bitmap: it is clear if
  // the bitmap was lost.
  uint64_t MarkerOf(uint64_t offset) const {
    if (scheme.is_local()) return offset / kBlockBits * kBlockBits;
    return std::min(scheme.bits, kMaxRedisOffset);
  }

  // The size of a shard's bitmap as a string, markers included.
  uint64_t StringBytes(uint32_t shard) const {
    return scheme.is_local() ? BlocksOf(shard) * kBlockBytes
                             : MarkerOf(0) / 8 + 1;
  }

  // In all bits of the filter, markers apart: where the bytes of a shard begin,
  // and how many it has.
  uint64_t BytesBefore(uint32_t shard) const {
    return shard * shard_blocks * kBlockBytes;
  }
  uint64_t BytesOf(uint32_t shard) const {
    return shards == 1 ? (scheme.bits + 7) / 8 : StringBytes(shard);
  }
};

using DescriptorRef = std::shared_ptr<const Descriptor>;

// Sets all of *descriptor but the id. Empty, or what is wrong.
std::string Resolve(const RedisFilterOptions& options, Descriptor* descriptor);

// 16 random hexadecimal digits.
std::string RandomId();

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_SHARED_FILTERS_REDIS_DESCRIPTOR_H_
