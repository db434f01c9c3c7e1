// Adding keys: a script for each group of keys of a shard.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "deltabloom/redis_filter.h"
#include "shared_filters/redis/batch.h"
#include "shared_filters/redis/client.h"
#include "shared_filters/redis/connection.h"
#include "shared_filters/redis/descriptor.h"
#include "shared_filters/redis/filter.h"

namespace deltabloom {

using namespace internal;  // NOLINT

namespace {

RedisStatus AddOnce(Client& client, const Descriptor& descriptor,
                    const std::string_view* keys, size_t n, bool* is_new) {
  const uint32_t probes = descriptor.scheme.probes;
  // A script blocks the server, and Lua unpacks some 8000 words at most.
  const size_t keys_per_script =
      std::clamp<size_t>(6000 / (4 * probes + 3), 1, 128);
  const Batch batch(descriptor, keys, n);
  std::vector<Request> requests;
  std::vector<std::pair<const size_t*, size_t>> groups;  // of keys, by request
  for (const auto& [number, shard] : batch.shards) {
    for (size_t at = 0; at < shard.keys.size(); at += keys_per_script) {
      const size_t* const group = &shard.keys[at];
      const size_t size = std::min(shard.keys.size() - at, keys_per_script);
      // All bitmaps but those of local have one marker for all keys.
      const size_t markers = descriptor.scheme.is_local() ? size : 1;
      Request request(kAddScript, {shard.names.live, shard.names.descriptor},
                      descriptor.id, shard.names.rebuild, !descriptor.adopted(),
                      probes, markers);
      for (size_t i = 0; i < markers; ++i) {
        request.Append("GET", "u1", batch.spots[group[i]].marker);
      }
      for (size_t i = 0; i < size * probes; ++i) {
        const Spots& key = batch.spots[group[i / probes]];
        request.Append("SET", "u1", key.offsets[i % probes], 1);
      }
      requests.push_back(std::move(request));
      groups.emplace_back(group, size);
    }
  }
  Replies replies;
  const RedisStatus status = client.Run(requests, {}, &replies);
  if (!status.ok()) return status;
  for (size_t i = 0; i < groups.size(); ++i) {
    const auto [group, size] = groups[i];
    const std::vector<RedisReply>& changed = replies[i].elements;
    if (changed.size() != size) return client.OddReply(requests[i].key);
    for (size_t k = 0; is_new != nullptr && k < size; ++k) {
      is_new[group[k]] = changed[k].integer > 0;
    }
  }
  return status;
}

}  // namespace

RedisStatus RedisFilter::Add(const std::string_view* keys, size_t n,
                             bool* is_new) {
  if (n == 0) return {};
  RedisStatus status = CheckKeySizes(rep_->opened_name, keys, n);
  if (status.ok()) {
    status = rep_->WithDescriptor([&](const DescriptorRef& descriptor) {
      return AddOnce(*rep_->client, *descriptor, keys, n, is_new);
    });
  }
  if (status.ok()) {
    rep_->client->Count([n](RedisFilterStatistics* all) { all->adds += n; });
  }
  return rep_->Count(status);
}

}  // namespace deltabloom
