// Filling.
#include <algorithm>
#include <map>

#include "shared_filters/redis/batch.h"
#include "shared_filters/redis/filter_rep.h"

namespace deltabloom {

using internal::Batch;
using internal::Descriptor;
using internal::MakeStatus;
using internal::Reply;
using internal::Request;
using internal::Retry;
using internal::View;
using internal::ViewRef;

namespace {

// Keys in one call of the script, which blocks the server that long.
constexpr size_t kKeysPerScript = 128;

// Calls of the script, and which keys each of them adds; none: a WAIT.
struct Adds {
  std::vector<Request> requests;
  std::vector<std::vector<size_t>> keys;
};

Request MakeAdd(const View& seen, const internal::ShardKeys& names,
                const Batch& batch, const std::vector<size_t>& keys) {
  const Descriptor& descriptor = seen.descriptor;
  const uint32_t probes = descriptor.scheme.probes;
  Request request(internal::kAddScript, 2);
  request.Key(names.live).Key(names.descriptor).Word(descriptor.id);
  request.Word(names.rebuild).Number(descriptor.adopted() ? 0 : 1);
  // All bitmaps but those of local have one marker for all keys.
  const size_t markers = descriptor.scheme.is_local() ? keys.size() : 1;
  request.Number(probes).Number(markers);
  for (size_t i = 0; i < markers; ++i) {
    request.Word("GET").Word("u1").Number(batch[keys[i]].marker);
  }
  for (const size_t i : keys) {
    for (uint32_t p = 0; p < probes; ++p) {
      request.Word("SET").Word("u1").Number(batch[i].offsets[p]).Word("1");
    }
  }
  return request;
}

Adds MakeAdds(const View& seen, const std::string_view* keys, size_t n,
              const RedisOptions& options) {
  const Batch batch(seen.descriptor, keys, n);
  std::map<uint32_t, std::vector<size_t>> keys_of;
  for (size_t i = 0; i < n; ++i) keys_of[batch[i].shard].push_back(i);
  Adds adds;
  for (const auto& [shard, mine] : keys_of) {
    const internal::ShardKeys& names = seen.shards[shard];
    for (size_t from = 0; from < mine.size(); from += kKeysPerScript) {
      const size_t to = std::min(mine.size(), from + kKeysPerScript);
      adds.keys.emplace_back(mine.begin() + static_cast<ptrdiff_t>(from),
                             mine.begin() + static_cast<ptrdiff_t>(to));
      adds.requests.push_back(MakeAdd(seen, names, batch, adds.keys.back()));
    }
    if (options.wait_replicas > 0) {
      adds.requests.emplace_back("WAIT");
      adds.requests.back()
          .Number(options.wait_replicas)
          .Number(static_cast<uint64_t>(options.replica_timeout.count()))
          .Route(names.live);
      adds.keys.emplace_back();
    }
  }
  return adds;
}

RedisStatus StatusOfWait(const internal::Client& client, const Request& request,
                         const redisReply& reply) {
  const uint32_t wanted = client.options().wait_replicas;
  if (reply.integer >= static_cast<long long>(wanted)) return {};
  return MakeStatus(RedisError::kNotReplicated,
                    client.EndpointOf(request.key()), request.key(),
                    std::to_string(reply.integer) + " of " +
                        std::to_string(wanted) +
                        " replicas have it; it is added");
}

RedisStatus ReadAdded(const internal::Client& client, const Request& request,
                      const redisReply& reply, const std::vector<size_t>& keys,
                      bool* is_new) {
  if (reply.type == REDIS_REPLY_INTEGER) {
    return internal::StatusOfAnswer(client, request, reply);
  }
  if (reply.type != REDIS_REPLY_ARRAY || reply.elements != keys.size()) {
    return internal::OddReply(client, request.key());
  }
  for (size_t i = 0; is_new != nullptr && i < keys.size(); ++i) {
    is_new[keys[i]] = reply.element[i]->integer > 0;
  }
  return {};
}

}  // namespace

RedisStatus RedisFilter::Rep::AddOnce(const View& seen,
                                      const std::string_view* keys, size_t n,
                                      bool* is_new, bool* other_filter) {
  const uint32_t wait = client->options().wait_replicas;
  const Adds adds_of = MakeAdds(seen, keys, n, client->options());
  const std::vector<Request>& requests = adds_of.requests;
  std::vector<Reply> replies;
  int rounds = 0;
  RedisStatus status = client->Run(requests, Retry::kSafe, &replies, &rounds);
  if (!status.ok()) return status;
  if (wait > 0 && rounds > 1) {
    // WAIT may have come before its writes. They are made again, in order.
    std::vector<Reply> in_order;
    status = client->Run(requests, Retry::kSafe, &in_order);
    if (!status.ok()) return status;
    for (size_t i = 0; i < requests.size(); ++i) {
      if (adds_of.keys[i].empty()) replies[i] = std::move(in_order[i]);
    }
  }
  for (size_t i = 0; i < requests.size(); ++i) {
    const redisReply& reply = *replies[i];
    RedisStatus one = client->ErrorOf(requests[i], reply);
    if (one.ok() && adds_of.keys[i].empty()) {
      one = StatusOfWait(*client, requests[i], reply);
    } else if (one.ok()) {
      if (reply.type == REDIS_REPLY_INTEGER &&
          reply.integer == internal::kOtherFilter) {
        *other_filter = true;
      }
      one = ReadAdded(*client, requests[i], reply, adds_of.keys[i], is_new);
    }
    if (status.ok()) status = one;
  }
  return status;
}

RedisStatus RedisFilter::Rep::Add(const std::string_view* keys, size_t n,
                                  bool* is_new) {
  if (n == 0) return {};
  RedisStatus status = internal::CheckKeySizes(opened_name, keys, n);
  bool again = status.ok();
  for (int i = 0; again && i < internal::kReplacedAttempts; ++i) {
    const ViewRef seen = CurrentView();
    again = false;
    status = AddOnce(*seen, keys, n, is_new, &again);
    if (!again) break;
    const RedisStatus reloaded = Reload(seen);
    if (!reloaded.ok()) {
      status = reloaded;
      break;
    }
  }
  if (status.ok()) {
    adds += n;
  } else {
    CountError(status);
  }
  return status;
}

RedisStatus RedisFilter::Add(std::string_view key, bool* is_new) {
  return rep_->Add(&key, 1, is_new);
}

RedisStatus RedisFilter::Add(const std::string_view* keys, size_t n,
                             bool* is_new) {
  return rep_->Add(keys, n, is_new);
}

}  // namespace deltabloom
