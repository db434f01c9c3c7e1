// Checks and adds.
#include "shared_filters/redis/filter.h"

#include <algorithm>
#include <map>
#include <set>

namespace deltabloom {

using internal::Descriptor;
using internal::MakeStatus;
using internal::Replies;
using internal::Request;
using internal::Retry;
using internal::ServerIdentity;
using internal::View;
using internal::ViewRef;
using Kind = RedisReply::Kind;

namespace {

// The bits of one key, in the shard that has them.
struct Spots {
  uint32_t shard;
  uint64_t marker;
  const uint64_t* offsets;
};

// The bits of a batch of keys.
class Batch {
 public:
  Batch(const Descriptor& descriptor, const std::string_view* keys, size_t n)
      : spots_(n), offsets_(n * descriptor.scheme.probes) {
    const uint32_t probes = descriptor.scheme.probes;
    for (size_t i = 0; i < n; ++i) {
      uint64_t* const offsets = &offsets_[i * probes];
      descriptor.scheme.Offsets(keys[i], offsets);
      spots_[i].shard = descriptor.ShardOf(offsets[0]);
      for (uint32_t p = 0; p < probes; ++p) {
        offsets[p] = descriptor.OffsetInShard(offsets[p]);
      }
      spots_[i].marker = descriptor.MarkerOf(offsets[0]);
      spots_[i].offsets = offsets;
    }
  }

  const std::vector<Spots>& spots() const { return spots_; }
  const Spots& operator[](size_t i) const { return spots_[i]; }

 private:
  std::vector<Spots> spots_;
  std::vector<uint64_t> offsets_;
};

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
                 const RedisReply& reply) {
  if (reply.kind != Kind::kText) return Answer::kNonsense;
  if (reply.text.empty()) return Answer::kLost;
  if (reply.text.size() != internal::kBlockBytes) return Answer::kWrongSize;
  const auto is_set = [&](uint64_t offset) {
    const uint64_t bit = offset - spots.marker;
    const auto byte = static_cast<unsigned char>(reply.text[bit / 8]);
    return (byte >> (7 - bit % 8) & 1) != 0;
  };
  if (!is_set(spots.marker)) return Answer::kLost;
  return std::all_of(spots.offsets, spots.offsets + descriptor.scheme.probes,
                     is_set)
             ? Answer::kMayMatch
             : Answer::kAbsent;
}

Answer ReadFields(const Descriptor& descriptor, const RedisReply& reply) {
  const uint32_t probes = descriptor.scheme.probes;
  const bool marked = !descriptor.adopted();
  if (reply.kind != Kind::kArray ||
      reply.elements.size() != probes + (marked ? 1 : 0)) {
    return Answer::kNonsense;
  }
  const auto is_clear = [](const RedisReply& bit) { return bit.integer == 0; };
  for (const RedisReply& bit : reply.elements) {
    if (bit.kind != Kind::kInteger) return Answer::kNonsense;
  }
  if (marked && is_clear(reply.elements[probes])) return Answer::kLost;
  return std::any_of(reply.elements.begin(), reply.elements.begin() + probes,
                     is_clear)
             ? Answer::kAbsent
             : Answer::kMayMatch;
}

RedisStatus StatusOf(Answer answer, const internal::Client& client,
                     const std::string& key) {
  switch (answer) {
    case Answer::kAbsent:
    case Answer::kMayMatch:
      return {};
    case Answer::kLost:
      return internal::Lost(client, key);
    case Answer::kWrongSize:
      return client.StatusAt(RedisError::kWrongSize, key,
                             "the bitmap is shorter than the filter");
    case Answer::kNonsense:
      break;
  }
  return internal::OddReply(client, key);
}

// One command for each shard that the batch touches: is it the filter that was
// opened, on a server that has all of it? Of an adopted one: is it there?
std::vector<Request> AskIdentities(const View& seen, const Batch& batch) {
  std::set<uint32_t> touched;
  for (const Spots& one : batch.spots()) touched.insert(one.shard);
  std::vector<Request> requests;
  for (const uint32_t shard : touched) {
    if (seen.descriptor.adopted()) {
      requests.emplace_back("EXISTS");
      requests.back().Key(seen.shards[shard].live);
    } else {
      requests.push_back(internal::AskIdentity(seen.shards[shard]));
    }
  }
  return requests;
}

// Calls of the script, and which keys each of them adds.
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

Adds MakeAdds(const View& seen, const std::string_view* keys, size_t n) {
  constexpr size_t kKeysPerScript = 128;  // a script blocks the server
  const Batch batch(seen.descriptor, keys, n);
  std::map<uint32_t, std::vector<size_t>> keys_of;
  for (size_t i = 0; i < n; ++i) keys_of[batch[i].shard].push_back(i);
  Adds adds;
  for (const auto& [shard, mine] : keys_of) {
    for (size_t from = 0; from < mine.size(); from += kKeysPerScript) {
      const size_t to = std::min(mine.size(), from + kKeysPerScript);
      adds.keys.emplace_back(mine.begin() + static_cast<ptrdiff_t>(from),
                             mine.begin() + static_cast<ptrdiff_t>(to));
      adds.requests.push_back(
          MakeAdd(seen, seen.shards[shard], batch, adds.keys.back()));
    }
  }
  return adds;
}

}  // namespace

namespace internal {

Request AskIdentity(const ShardKeys& shard) {
  Request request("HMGET");
  request.Key(shard.descriptor).Word("id").Word("run_id").Word("replid");
  request.Word("durable");
  return request;
}

std::string WhyUnverified(const RedisReply& reply,
                          const std::vector<ServerIdentity>& servers) {
  if (reply.elements.size() != 4) return "its descriptor cannot be read";
  for (const ServerIdentity& server : servers) {
    if (!server.error.empty()) {
      return "the server does not tell which one it is (" + server.error + ")";
    }
    if (!server.is_master) return "the server is a replica";
    const bool known = reply.elements[1].text == server.run_id &&
                       reply.elements[2].text == server.replid;
    const bool durable = reply.elements[3].text == "1" && !server.replicates;
    if (!known && !durable) {
      return "Redis restarted or failed over and may lack keys: confirm or "
             "rebuild the filter";
    }
  }
  return "";
}

}  // namespace internal

RedisStatus RedisFilter::Rep::CheckKeySizes(const std::string_view* keys,
                                            size_t n) const {
  constexpr size_t kMaxKey = size_t{1} << 20;  // bytes
  for (size_t i = 0; i < n; ++i) {
    if (keys[i].size() > kMaxKey) {
      return internal::Invalid(opened_name,
                               "a key has " + std::to_string(keys[i].size()) +
                                   " bytes: at most 1 MiB is allowed");
    }
  }
  return {};
}

void RedisFilter::Rep::CountError(const RedisStatus& status) {
  if (status.error == RedisError::kMissing) ++lost_bits;
  const std::lock_guard lock(mutex);
  last_error = status.message;
}

// *is_news: the descriptor has become verified perhaps only after the bits were
// read; what was read is worth nothing then.
RedisStatus RedisFilter::Rep::CheckOnce(const View& seen,
                                        const std::string_view* keys, size_t n,
                                        bool* may_match, bool* other_filter,
                                        bool* is_news) {
  const Descriptor& descriptor = seen.descriptor;
  const Batch batch(descriptor, keys, n);
  std::vector<Request> requests;
  for (const Spots& one : batch.spots()) {
    requests.push_back(AskBits(descriptor, seen.shards[one.shard].live, one));
  }
  // Last: they vouch for all that was read before.
  const std::vector<Request> identities = AskIdentities(seen, batch);
  requests.insert(requests.end(), identities.begin(), identities.end());
  const auto timeout = client->options().command_timeout;
  const bool identify = !descriptor.adopted();
  Replies replies;
  RedisStatus status = client->RunAll(requests, timeout, &replies, identify);
  if (status.ok() && replies.out_of_order) {
    Replies later;
    status = client->RunAll(identities, timeout, &later, identify);
    std::move(later.replies.begin(), later.replies.end(),
              replies.replies.begin() + static_cast<ptrdiff_t>(n));
    replies.servers.insert(replies.servers.end(), later.servers.begin(),
                           later.servers.end());
  }
  if (!status.ok()) return status;
  std::string unverified;
  for (size_t i = n; i < requests.size(); ++i) {
    const RedisReply& reply = replies[i];
    if (descriptor.adopted()) {
      if (reply.integer == 0) return internal::Lost(*client, requests[i].key());
      continue;
    }
    if (reply.elements.size() != 4 || reply.elements[0].text != descriptor.id) {
      *other_filter = true;
      return {};
    }
    if (unverified.empty()) {
      unverified = internal::WhyUnverified(reply, replies.servers);
      const std::string by =
          descriptor.id + reply.elements[1].text + reply.elements[2].text;
      const std::lock_guard lock(mutex);
      std::string& before = verified_by[requests[i].key()];
      if (unverified.empty() && before != by) *is_news = true;
      before = unverified.empty() ? by : "";
    }
  }
  for (size_t i = 0; i < n; ++i) {
    const Answer answer = descriptor.scheme.is_local()
                              ? ReadBlock(descriptor, batch[i], replies[i])
                              : ReadFields(descriptor, replies[i]);
    may_match[i] = answer != Answer::kAbsent;
    if (status.ok()) status = StatusOf(answer, *client, requests[i].key());
  }
  if (status.ok() && !unverified.empty()) {
    status =
        client->StatusAt(RedisError::kUnverified, descriptor.name, unverified);
  }
  return status;
}

RedisStatus RedisFilter::Rep::Check(const std::string_view* keys, size_t n,
                                    bool* may_match) {
  if (n == 0) return {};
  checks += n;
  RedisStatus status = CheckKeySizes(keys, n);
  if (status.ok()) {
    status = WithView([&](const View& seen, bool* other_filter) {
      for (int i = 0; i < kAttempts; ++i) {
        bool is_news = false;
        const RedisStatus once =
            CheckOnce(seen, keys, n, may_match, other_filter, &is_news);
        if (!is_news) return once;
      }
      return MakeStatus(RedisError::kUnverified, opened_name,
                        "Redis restarts or fails over again and again");
    });
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

RedisStatus RedisFilter::Rep::AddOnce(const View& seen,
                                      const std::string_view* keys, size_t n,
                                      bool* is_new, bool* other_filter) {
  const Adds adds_of = MakeAdds(seen, keys, n);
  Replies replies;
  RedisStatus status = client->Run(adds_of.requests, Retry::kSafe, &replies);
  if (!status.ok()) return status;
  for (size_t i = 0; i < adds_of.requests.size(); ++i) {
    const std::string& key = adds_of.requests[i].key();
    const std::vector<size_t>& mine = adds_of.keys[i];
    const RedisReply& reply = replies[i];
    RedisStatus one = client->ErrorOf(key, reply);
    if (one.ok() && reply.kind == Kind::kInteger) {
      *other_filter |= reply.integer == internal::kOtherFilter;
      one = internal::StatusOfAnswer(*client, key, reply);
    } else if (one.ok() && reply.elements.size() != mine.size()) {
      one = internal::OddReply(*client, key);
    } else if (one.ok() && is_new != nullptr) {
      for (size_t k = 0; k < mine.size(); ++k) {
        is_new[mine[k]] = reply.elements[k].integer > 0;
      }
    }
    if (status.ok()) status = one;
  }
  return status;
}

RedisStatus RedisFilter::Rep::Add(const std::string_view* keys, size_t n,
                                  bool* is_new) {
  if (n == 0) return {};
  RedisStatus status = CheckKeySizes(keys, n);
  if (status.ok()) {
    status = WithView([&](const View& seen, bool* other_filter) {
      return AddOnce(seen, keys, n, is_new, other_filter);
    });
  }
  if (status.ok()) {
    adds += n;
  } else {
    CountError(status);
  }
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

RedisStatus RedisFilter::Add(std::string_view key, bool* is_new) {
  return rep_->Add(&key, 1, is_new);
}

RedisStatus RedisFilter::Add(const std::string_view* keys, size_t n,
                             bool* is_new) {
  return rep_->Add(keys, n, is_new);
}

}  // namespace deltabloom
