// RedisFilter::Info: the descriptor, and counts of each shard's bits.
#include <algorithm>
#include <chrono>
#include <cstdint>

#include "deltabloom/redis_filter.h"
#include "shared_filters/redis/client.h"
#include "shared_filters/redis/descriptor.h"
#include "shared_filters/redis/filter.h"
#include "shared_filters/redis/verify.h"

namespace deltabloom {

using namespace internal;  // NOLINT
using std::chrono::milliseconds;

RedisStatus RedisFilter::Info(RedisFilterInfo* info) {
  *info = {};
  DescriptorRef known;
  RedisStatus status = rep_->Get(&known);
  if (!status.ok()) return status;
  Descriptor descriptor = *known;
  if (!descriptor.adopted()) {
    status = ReadDescriptor(*rep_->client, rep_->opened_name, &descriptor);
    if (!status.ok()) return status;
  } else {
    info->unverified = "an adopted bitmap has no descriptor";
  }
  const Scheme& scheme = descriptor.scheme;
  info->name = descriptor.name;
  info->scheme = scheme.Name();
  info->bits = scheme.bits;
  info->probes = scheme.probes;
  info->hashes = scheme.hashes;
  info->doubled_string = scheme.doubled_string;
  info->adopted = descriptor.adopted();
  info->own_writers_only = !descriptor.has_other_writers();
  info->durable = descriptor.durable;
  info->shards = descriptor.shards;
  info->expected_keys = descriptor.expected_keys;
  info->rebuilds = descriptor.rebuilds;

  // One by one: what follows a redirected EXISTS in a call runs once more.
  for (const Shard& names : descriptor.Shards()) {
    Replies replies;
    status = rep_->client->Run(
        {Request("STRLEN", names.live), Request("BITCOUNT", names.live),
         Request("PTTL", names.live), Request("EXISTS", names.rebuild),
         AskIdentity(names)},
        {Retry::kSafe, true, !descriptor.adopted()}, &replies);
    if (!status.ok()) return status;
    info->stored_bytes += static_cast<uint64_t>(replies[0].integer);
    info->set_bits += static_cast<uint64_t>(replies[1].integer);
    const milliseconds ttl(replies[2].integer);
    if (ttl.count() >= 0 &&
        (info->expires_in.count() < 0 || ttl < info->expires_in)) {
      info->expires_in = ttl;
    }
    if (replies[3].integer != 0) info->rebuilding = true;
    if (info->unverified.empty()) {
      info->unverified = WhyUnverified(replies[4], replies.servers);
    }
  }
  info->verified = info->unverified.empty();
  uint64_t markers = scheme.is_local() ? scheme.bits / kBlockBits : 1;
  if (descriptor.adopted()) markers = 0;
  info->set_bits -= std::min(info->set_bits, markers);
  info->occupancy =
      static_cast<double>(info->set_bits) / static_cast<double>(scheme.bits);
  info->keys_estimate = scheme.KeysOfOccupancy(info->occupancy);
  info->false_positive_rate = scheme.RateOfOccupancy(info->occupancy);
  if (info->stored_bytes == 0 && !descriptor.adopted()) {
    return rep_->client->BitsLost(descriptor.ShardAt(0).live);
  }
  return {};
}

}  // namespace deltabloom
