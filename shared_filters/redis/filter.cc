// Asking.
#include <algorithm>
#include <set>

#include "shared_filters/redis/batch.h"
#include "shared_filters/redis/filter_rep.h"

namespace deltabloom {

using internal::Batch;
using internal::Descriptor;
using internal::MakeStatus;
using internal::Reply;
using internal::Request;
using internal::Retry;
using internal::Spots;
using internal::View;
using internal::ViewRef;

namespace {

Request AskBits(const Descriptor& descriptor, const std::string& bitmap,
                const Spots& spots) {
  if (descriptor.scheme.is_local()) {
    const uint64_t first = spots.marker / 8;
    Request request("GETRANGE");
    request.Key(bitmap).Number(first).Number(first + internal::kBlockBytes - 1);
    return request;
  }
  Request request("BITFIELD_RO");
  request.Key(bitmap);
  for (uint32_t i = 0; i < descriptor.scheme.probes; ++i) {
    request.Word("GET").Word("u1").Number(spots.offsets[i]);
  }
  if (!descriptor.adopted()) {
    request.Word("GET").Word("u1").Number(spots.marker);
  }
  return request;
}

enum class Answer { kAbsent, kMayMatch, kLost, kWrongSize, kNonsense };

Answer ReadBlock(const Descriptor& descriptor, const Spots& spots,
                 const redisReply& reply) {
  if (!internal::IsText(reply)) return Answer::kNonsense;
  if (reply.len == 0) return Answer::kLost;
  if (reply.len != internal::kBlockBytes) return Answer::kWrongSize;
  const auto is_set = [&](uint64_t offset) {
    const uint64_t bit = offset - spots.marker;
    return (static_cast<unsigned char>(reply.str[bit / 8]) >> (7 - bit % 8) &
            1) != 0;
  };
  if (!is_set(spots.marker)) return Answer::kLost;
  for (uint32_t i = 0; i < descriptor.scheme.probes; ++i) {
    if (!is_set(spots.offsets[i])) return Answer::kAbsent;
  }
  return Answer::kMayMatch;
}

Answer ReadFields(const Descriptor& descriptor, const redisReply& reply) {
  const uint32_t probes = descriptor.scheme.probes;
  const bool marked = !descriptor.adopted();
  if (reply.type != REDIS_REPLY_ARRAY ||
      reply.elements != probes + (marked ? 1 : 0)) {
    return Answer::kNonsense;
  }
  if (marked && reply.element[probes]->integer == 0) return Answer::kLost;
  for (uint32_t i = 0; i < probes; ++i) {
    if (reply.element[i]->integer == 0) return Answer::kAbsent;
  }
  return Answer::kMayMatch;
}

RedisStatus LostStatus(const internal::Client& client, const std::string& key) {
  return MakeStatus(RedisError::kMissing, client.EndpointOf(key), key,
                    "the bits are lost (expired, evicted or flushed): rebuild "
                    "the filter, or delete and create it");
}

RedisStatus StatusOf(Answer answer, const internal::Client& client,
                     const std::string& key) {
  switch (answer) {
    case Answer::kAbsent:
    case Answer::kMayMatch:
      return {};
    case Answer::kLost:
      return LostStatus(client, key);
    case Answer::kWrongSize:
      return MakeStatus(RedisError::kWrongSize, client.EndpointOf(key), key,
                        "the bitmap is shorter than the filter");
    case Answer::kNonsense:
      break;
  }
  return internal::OddReply(client, key);
}

// One question for each shard that the batch touches: is it the filter that
// was opened, or, of an adopted one, is there any?
void AskIdentity(const View& seen, const Batch& batch,
                 std::vector<Request>* requests) {
  std::set<uint32_t> touched;
  for (const Spots& one : batch.spots()) touched.insert(one.shard);
  for (const uint32_t shard : touched) {
    if (seen.descriptor.adopted()) {
      requests->emplace_back("EXISTS");
      requests->back().Key(seen.shards[shard].live);
    } else {
      requests->emplace_back("HGET");
      requests->back().Key(seen.shards[shard].descriptor).Word("id");
    }
  }
}

}  // namespace

namespace internal {

RedisStatus CheckKeySizes(const std::string& filter,
                          const std::string_view* keys, size_t n) {
  constexpr size_t kMaxKey = size_t{1} << 20;  // bytes
  for (size_t i = 0; i < n; ++i) {
    if (keys[i].size() > kMaxKey) {
      return MakeStatus(RedisError::kInvalidArgument, filter,
                        "a key of " + std::to_string(keys[i].size()) +
                            " bytes: it may have 1 MiB");
    }
  }
  return {};
}

RedisStatus OddReply(const internal::Client& client, const std::string& key) {
  return MakeStatus(RedisError::kServer, client.EndpointOf(key), key,
                    "a reply of an unexpected form");
}

}  // namespace internal

void RedisFilter::Rep::CountError(const RedisStatus& status) {
  if (status.ok()) return;
  if (status.error == RedisError::kMissing) ++lost_bits;
  const std::lock_guard lock(mutex);
  last_error = status.message;
}

RedisStatus RedisFilter::Rep::Reload(const ViewRef& seen) {
  Descriptor descriptor;
  const RedisStatus status =
      internal::ReadDescriptor(client.get(), opened_name, &descriptor);
  if (!status.ok()) return status;
  if (descriptor.id == seen->descriptor.id) {
    // The root is what it was: a shard of it is not there.
    return LostStatus(*client, seen->descriptor.name);
  }
  auto fresh = std::make_shared<const View>(std::move(descriptor));
  const std::lock_guard lock(mutex);
  view = std::move(fresh);
  return {};
}

RedisStatus RedisFilter::Rep::CheckOnce(const View& seen,
                                        const std::string_view* keys, size_t n,
                                        bool* may_match, bool* other_filter) {
  const Descriptor& descriptor = seen.descriptor;
  const Batch batch(descriptor, keys, n);
  // Newest generation first: a rotation meanwhile moves bits to where they are
  // read later. The identity last: it vouches for all that was read before.
  std::vector<Request> requests;
  requests.reserve(n * descriptor.generations + 1);
  for (uint32_t g = 0; g < descriptor.generations; ++g) {
    for (const Spots& one : batch.spots()) {
      requests.push_back(AskBits(descriptor, seen.Bitmap(one.shard, g), one));
    }
  }
  const size_t bit_replies = requests.size();
  AskIdentity(seen, batch, &requests);
  std::vector<Reply> replies;
  RedisStatus status = client->Run(requests, Retry::kSafe, &replies);
  for (size_t i = 0; status.ok() && i < replies.size(); ++i) {
    status = client->ErrorOf(requests[i], *replies[i]);
  }
  if (!status.ok()) return status;
  for (size_t i = bit_replies; i < replies.size(); ++i) {
    const redisReply& reply = *replies[i];
    if (descriptor.adopted()) {
      if (reply.integer == 0) return LostStatus(*client, requests[i].key());
    } else if (!internal::IsText(reply) ||
               internal::TextOf(reply) != descriptor.id) {
      *other_filter = true;
      return {};
    }
  }
  std::fill(may_match, may_match + n, false);
  for (size_t i = 0; i < bit_replies; ++i) {
    const Answer answer = descriptor.scheme.is_local()
                              ? ReadBlock(descriptor, batch[i % n], *replies[i])
                              : ReadFields(descriptor, *replies[i]);
    if (answer == Answer::kAbsent) continue;
    may_match[i % n] = true;
    if (status.ok()) {
      status = StatusOf(answer, *client, requests[i].key());
    }
  }
  return status;
}

RedisStatus RedisFilter::Rep::Check(const std::string_view* keys, size_t n,
                                    bool* may_match) {
  std::fill(may_match, may_match + n, true);
  if (n == 0) return {};
  checks += n;
  RedisStatus status = internal::CheckKeySizes(opened_name, keys, n);
  bool other_filter = status.ok();
  for (int i = 0; other_filter && i < internal::kReplacedAttempts; ++i) {
    const ViewRef seen = CurrentView();
    other_filter = false;
    status = CheckOnce(*seen, keys, n, may_match, &other_filter);
    if (!other_filter) break;
    status = Reload(seen);
    if (!status.ok()) break;
  }
  if (status.ok() && other_filter) {
    status = MakeStatus(RedisError::kMismatch, opened_name,
                        "it is replaced over and over");
  }
  if (!status.ok()) {
    CountError(status);
    // What was read beside lost bits is not to be trusted either.
    std::fill(may_match, may_match + n, true);
    return status;
  }
  absent += static_cast<uint64_t>(std::count(may_match, may_match + n, false));
  return status;
}

bool RedisFilter::MayMatch(std::string_view key) {
  bool may_match = true;
  MayMatch(&key, 1, &may_match);
  return may_match;
}

void RedisFilter::MayMatch(const std::string_view* keys, size_t n,
                           bool* may_match) {
  if (!rep_->Check(keys, n, may_match).ok()) rep_->failed_open += n;
}

RedisStatus RedisFilter::Check(std::string_view key, bool* may_match) {
  return rep_->Check(&key, 1, may_match);
}

RedisStatus RedisFilter::Check(const std::string_view* keys, size_t n,
                               bool* may_match) {
  return rep_->Check(keys, n, may_match);
}

}  // namespace deltabloom
