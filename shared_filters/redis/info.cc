// What a filter is, holds, and has lived through.
#include <algorithm>

#include "shared_filters/redis/filter_rep.h"
#include "shared_filters/redis/transfer.h"

namespace deltabloom {

using internal::Descriptor;
using internal::Reply;
using internal::Request;
using internal::Retry;
using internal::ViewRef;

namespace {

void Describe(const Descriptor& descriptor, RedisFilterInfo* info) {
  info->name = descriptor.name;
  info->scheme = descriptor.scheme.Name();
  info->bits = descriptor.scheme.bits;
  info->probes = descriptor.scheme.probes;
  info->hashes = descriptor.scheme.hashes;
  info->doubled_string = descriptor.scheme.doubled_string;
  info->adopted = descriptor.adopted();
  info->shards = descriptor.shards;
  info->spread = descriptor.spread;
  info->generations = descriptor.generations;
  info->max_age = descriptor.max_age;
  info->expected_keys = descriptor.expected_keys;
  info->rebuilding = descriptor.rebuilding;
  info->rebuilds = descriptor.rebuilds;
}

// Bits that are set in every bitmap of ours.
uint64_t MarkersOf(const Descriptor& descriptor) {
  if (descriptor.adopted()) return 0;
  return descriptor.scheme.is_local()
             ? descriptor.scheme.bits / internal::kBlockBits
             : 1;
}

void Estimate(const Descriptor& descriptor, uint64_t count,
              RedisFilterInfo* info) {
  info->set_bits = count - std::min(count, MarkersOf(descriptor));
  info->occupancy = static_cast<double>(info->set_bits) /
                    static_cast<double>(descriptor.scheme.bits);
  info->keys_estimate =
      internal::KeysOfOccupancy(descriptor.scheme, info->occupancy);
  info->false_positive_rate =
      internal::RateOfOccupancy(descriptor.scheme, info->occupancy);
}

}  // namespace

RedisStatus RedisFilter::Info(RedisFilterInfo* info) {
  *info = {};
  ViewRef view = rep_->CurrentView();
  if (!view->descriptor.adopted()) {
    Descriptor now;
    const RedisStatus status =
        internal::ReadDescriptor(rep_->client.get(), rep_->opened_name, &now);
    if (!status.ok()) return status;
    view = std::make_shared<const internal::View>(std::move(now));
  }
  const Descriptor& descriptor = view->descriptor;
  Describe(descriptor, info);
  std::vector<Request> requests;
  for (uint32_t shard = 0; shard < descriptor.shards; ++shard) {
    const internal::ShardKeys& keys = view->shards[shard];
    requests.push_back(std::move(Request("STRLEN").Key(keys.live)));
    requests.push_back(std::move(Request("BITCOUNT").Key(keys.live)));
    requests.push_back(std::move(Request("PTTL").Key(keys.live)));
    requests.push_back(std::move(Request("EXISTS").Key(keys.rebuild)));
  }
  std::vector<Reply> replies;
  RedisStatus status = rep_->client->Run(
      requests, Retry::kSafe, internal::LongTimeout(rep_->client->options()),
      &replies);
  for (size_t i = 0; status.ok() && i < replies.size(); ++i) {
    status = rep_->client->ErrorOf(requests[i], *replies[i]);
  }
  if (!status.ok()) return status;
  uint64_t count = 0;
  info->rebuilding = false;
  for (size_t i = 0; i < replies.size(); i += 4) {
    info->stored_bytes += static_cast<uint64_t>(replies[i]->integer);
    count += static_cast<uint64_t>(replies[i + 1]->integer);
    const std::chrono::milliseconds ttl(replies[i + 2]->integer);
    if (ttl.count() >= 0 &&
        (info->expires_in.count() < 0 || ttl < info->expires_in)) {
      info->expires_in = ttl;
    }
    if (replies[i + 3]->integer != 0) info->rebuilding = true;
  }
  Estimate(descriptor, count, info);
  if (info->stored_bytes == 0 && !descriptor.adopted()) {
    return internal::MakeStatus(
        RedisError::kMissing, rep_->client->EndpointOf(requests[0].key()),
        requests[0].key(), "the bits are lost (expired, evicted or flushed)");
  }
  return {};
}

RedisStatus RedisFilter::ReadBits(std::string* bits) {
  const ViewRef view = rep_->CurrentView();
  const Descriptor& descriptor = view->descriptor;
  const uint64_t size = (descriptor.scheme.bits + 7) / 8;
  bits->assign(size, '\0');
  auto* bytes = reinterpret_cast<unsigned char*>(bits->data());
  for (uint32_t shard = 0; shard < descriptor.shards; ++shard) {
    const uint64_t first =
        shard * descriptor.shard_blocks * internal::kBlockBytes;
    const uint64_t part = descriptor.shards == 1 ? size
                                                 : descriptor.BlocksOf(shard) *
                                                       internal::kBlockBytes;
    const RedisStatus status = internal::Download(
        rep_->client.get(), view->shards[shard].live, part, bytes + first);
    if (!status.ok()) return status;
  }
  for (uint64_t i = 0; i < size; ++i) {
    bytes[i] = internal::ReverseBits(bytes[i]);
  }
  // What lies behind the last bit is no key's.
  const uint64_t used = descriptor.scheme.bits % 8;
  if (used != 0) {
    bytes[size - 1] =
        static_cast<unsigned char>(bytes[size - 1] & ((1u << used) - 1));
  }
  // Lost bits must not pass for a filter without keys.
  bool may_match = true;
  const std::string_view any;
  return rep_->Check(&any, 1, &may_match);
}

RedisFilterStatistics RedisFilter::Statistics() const {
  RedisFilterStatistics statistics;
  statistics.checks = rep_->checks;
  statistics.absent = rep_->absent;
  statistics.adds = rep_->adds;
  statistics.failed_open = rep_->failed_open;
  statistics.lost_bits = rep_->lost_bits;
  statistics.redirections = rep_->client->redirections();
  statistics.scripts_loaded = rep_->client->scripts_loaded();
  statistics.reconnects = rep_->client->pool().reconnects();
  statistics.circuits_opened = rep_->client->pool().circuits_opened();
  const std::lock_guard lock(rep_->mutex);
  statistics.last_error = rep_->last_error;
  return statistics;
}

}  // namespace deltabloom
