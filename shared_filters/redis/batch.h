// The keys of one call, with the bits of each and grouped by shards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "deltabloom/redis_filter.h"
#include "shared_filters/redis/descriptor.h"

namespace deltabloom::internal {

// The bits of one key, in the shard that has them.
struct Spots {
  const Shard* names;
  uint64_t marker;
  const uint64_t* offsets;
};

struct Batch {
  // A shard, and the numbers of the keys that are in it.
  struct Part {
    Shard names;
    std::vector<size_t> keys;
  };

  Batch(const Descriptor& descriptor, const std::string_view* keys, size_t n)
      : spots(n), offsets(n * descriptor.scheme.probes) {
    const uint32_t probes = descriptor.scheme.probes;
    for (size_t i = 0; i < n; ++i) {
      uint64_t* const at = &offsets[i * probes];
      descriptor.scheme.Offsets(keys[i], at);
      const uint32_t number = descriptor.ShardOf(at[0]);
      for (uint32_t p = 0; p < probes; ++p) {
        at[p] = descriptor.OffsetInShard(at[p]);
      }
      Part& shard = shards[number];
      if (shard.keys.empty()) shard.names = descriptor.ShardAt(number);
      shard.keys.push_back(i);
      spots[i] = {&shard.names, descriptor.MarkerOf(at[0]), at};
    }
    for (uint32_t i = 0; n == 0 && i < descriptor.shards; ++i) {
      shards[i].names = descriptor.ShardAt(i);
    }
  }

  std::map<uint32_t, Part> shards;  // those with a key; without keys, all
  std::vector<Spots> spots;
  std::vector<uint64_t> offsets;
};

// An invalid argument if a key is too long.
RedisStatus CheckKeySizes(const std::string& name, const std::string_view* keys,
                          size_t n);

}  // namespace deltabloom::internal
