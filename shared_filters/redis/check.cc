// Looking up keys, and reading all bits: plain commands in one pipeline, of
// which the last ones vouch for the others.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "deltabloom/redis_filter.h"
#include "shared_filters/memory/atomic_bits.h"
#include "shared_filters/redis/batch.h"
#include "shared_filters/redis/client.h"
#include "shared_filters/redis/connection.h"
#include "shared_filters/redis/descriptor.h"
#include "shared_filters/redis/filter.h"
#include "shared_filters/redis/verify.h"

namespace deltabloom {

using namespace internal;  // NOLINT
using Kind = RedisReply::Kind;

namespace {

constexpr char kRestarts[] = "Redis restarted or failed over repeatedly";

// The requests of one round: first one for each key, then one for each shard.
struct Questions {
  std::vector<Request> requests;
  std::vector<size_t> keys;  // of the first requests: the number of the key
  size_t first_shard = 0;    // the request from which on they are for shards
};

Request AskBits(const Descriptor& descriptor, const Spots& spots) {
  if (descriptor.scheme.is_local()) {
    const uint64_t first = spots.marker / 8;
    return Request("GETRANGE", spots.names->live, first,
                   first + kBlockBytes - 1);
  }
  Request request("BITFIELD_RO", spots.names->live);
  for (uint32_t i = 0; i < descriptor.scheme.probes; ++i) {
    request.Append("GET", "u1", spots.offsets[i]);
  }
  if (!descriptor.adopted()) request.Append("GET", "u1", spots.marker);
  return request;
}

RedisStatus ReadAnswer(const Client& client, const Descriptor& descriptor,
                       const Spots& spots, const RedisReply& reply,
                       bool* may_match) {
  const std::string& key = spots.names->live;
  const uint32_t probes = descriptor.scheme.probes;
  const bool is_local = descriptor.scheme.is_local();
  const bool is_marked = !descriptor.adopted();
  const std::vector<RedisReply>& bits = reply.elements;
  if (is_local) {
    if (reply.kind != Kind::kText) return client.OddReply(key);
    if (reply.text.empty()) return client.BitsLost(key);
    if (reply.text.size() != kBlockBytes) {
      return client.StatusAt(RedisError::kWrongSize, key,
                             "the bitmap is shorter than the filter");
    }
  } else if (bits.size() != probes + (is_marked ? 1 : 0) ||
             !std::all_of(bits.begin(), bits.end(), [](const RedisReply& bit) {
               return bit.kind == Kind::kInteger;
             })) {
    return client.OddReply(key);
  }
  // Returns whether the bit of probe i is set; after the last probe, the bit of
  // the marker.
  const auto is_set = [&](uint32_t i) {
    if (!is_local) return bits[i].integer != 0;
    const uint64_t bit = i == probes ? 0 : spots.offsets[i] - spots.marker;
    const auto byte = static_cast<unsigned char>(reply.text[bit / 8]);
    return (byte >> (7 - bit % 8) & 1) != 0;
  };
  if (is_marked && !is_set(probes)) return client.BitsLost(key);
  uint32_t i = 0;
  while (i < probes && is_set(i)) ++i;
  *may_match = i == probes;
  return {};
}

Questions AskAll(const Descriptor& descriptor, const Batch& batch) {
  Questions questions;
  for (const auto& [number, shard] : batch.shards) {
    for (const size_t key : shard.keys) {
      questions.requests.push_back(AskBits(descriptor, batch.spots[key]));
      questions.keys.push_back(key);
    }
  }
  questions.first_shard = questions.requests.size();
  // Last: they vouch for all that was read before. Is it the filter that was
  // opened, on a server that has all of it? An adopted bitmap: is it there?
  for (const auto& [number, shard] : batch.shards) {
    questions.requests.push_back(descriptor.adopted()
                                     ? Request("EXISTS", shard.names.live)
                                     : AskIdentity(shard.names));
  }
  return questions;
}

// The answers for the keys; returns the first error among them. All of them are
// read: each that has an error may match.
RedisStatus ReadAnswers(const Client& client, const Descriptor& descriptor,
                        const Batch& batch, const Questions& questions,
                        const Replies& replies, bool* may_match) {
  RedisStatus status;
  for (size_t i = 0; i < questions.first_shard; ++i) {
    const size_t key = questions.keys[i];
    may_match[key] = true;
    const RedisStatus one = ReadAnswer(client, descriptor, batch.spots[key],
                                       replies[i], &may_match[key]);
    if (status.ok()) status = one;
  }
  return status;
}

// Is the adopted bitmap there?
RedisStatus CheckPresence(const Client& client, const Questions& questions,
                          const Replies& replies) {
  for (size_t i = questions.first_shard; i < questions.requests.size(); ++i) {
    if (replies[i].integer == 0) {
      return client.BitsLost(questions.requests[i].key);
    }
  }
  return {};
}

// The identity by which each shard is known to be verified.
std::vector<std::string> KnownIdentities(const Questions& questions,
                                         const Identities& identities) {
  std::vector<std::string> known;
  for (size_t i = questions.first_shard; i < questions.requests.size(); ++i) {
    known.push_back(identities.Of(questions.requests[i].key));
  }
  return known;
}

// The result of comparing descriptors and servers, for all shards.
struct Verdict {
  std::string unverified;  // why a shard is not verified; empty: all are
  bool is_news = false;    // one is verified by another identity than was known
};

// Compares the descriptors that were read with the servers that answered, and
// with what was known before; notes what is known now. kMismatch: another
// filter has the name.
RedisStatus CompareIdentities(const Descriptor& descriptor,
                              const Questions& questions,
                              const Replies& replies,
                              const std::vector<std::string>& known,
                              Identities* identities, Verdict* verdict) {
  for (size_t shard = 0; shard < known.size(); ++shard) {
    const size_t i = questions.first_shard + shard;
    const std::vector<RedisReply>& fields = replies[i].elements;
    if (fields.size() != 4 || fields[0].text != descriptor.id) {
      return {RedisError::kMismatch, ""};
    }
    // The first reason is enough.
    if (!verdict->unverified.empty()) continue;
    verdict->unverified = WhyUnverified(replies[i], replies.servers);
    const bool is_verified = verdict->unverified.empty();
    const std::string identity =
        is_verified ? descriptor.id + fields[1].text + fields[2].text : "";
    if (is_verified && identity != known[shard]) verdict->is_news = true;
    identities->Set(questions.requests[i].key, identity);
  }
  return {};
}

// Reads the bytes of a shard; what its string lacks stays as it is.
RedisStatus Download(Client& client, const Descriptor& descriptor,
                     const Shard& shard, char* bytes) {
  constexpr uint64_t kPiece = uint64_t{1} << 20;
  for (uint64_t at = 0; at < shard.size; at += kPiece) {
    const uint64_t end = std::min(at + kPiece, shard.size);
    Replies replies;
    const RedisStatus status =
        client.Run({Request("GETRANGE", shard.live, at, end - 1),
                    Request("BITFIELD_RO", shard.live, "GET", "u1",
                            descriptor.MarkerOf(0))},
                   {Retry::kSafe, true}, &replies);
    if (!status.ok()) return status;
    const std::vector<RedisReply>& marker = replies[1].elements;
    if (marker.size() != 1) return client.OddReply(shard.live);
    if (marker[0].integer == 0 && !descriptor.adopted()) {
      return client.BitsLost(shard.live);
    }
    const std::string& piece = replies[0].text;
    std::copy_n(piece.data(), std::min(piece.size(), end - at), bytes + at);
  }
  return {};
}

}  // namespace

RedisStatus RedisFilter::Rep::CheckOnce(const Descriptor& descriptor,
                                        const std::string_view* keys, size_t n,
                                        bool* may_match, Identities* identities,
                                        bool* is_news) {
  const Batch batch(descriptor, keys, n);
  const Questions questions = AskAll(descriptor, batch);
  // The identities that were known before anything is read.
  const std::vector<std::string> known =
      KnownIdentities(questions, *identities);
  const CallOptions how{Retry::kSafe, false, !descriptor.adopted()};
  Replies replies;
  RedisStatus status = client->Run(questions.requests, how, &replies);
  if (!status.ok()) return status;

  Verdict verdict;
  status = descriptor.adopted()
               ? CheckPresence(*client, questions, replies)
               : CompareIdentities(descriptor, questions, replies, known,
                                   identities, &verdict);
  if (!status.ok()) return status;
  if (verdict.is_news) *is_news = true;

  status =
      ReadAnswers(*client, descriptor, batch, questions, replies, may_match);
  if (status.ok() && !verdict.unverified.empty()) {
    return client->StatusAt(RedisError::kUnverified, descriptor.name,
                            verdict.unverified);
  }
  return status;
}

RedisStatus RedisFilter::Check(const std::string_view* keys, size_t n,
                               bool* may_match) {
  if (n == 0) return {};
  RedisStatus status = CheckKeySizes(rep_->opened_name, keys, n);
  if (status.ok()) {
    status = rep_->WithDescriptor([&](const DescriptorRef& descriptor) {
      for (int i = 0; i < Rep::kAttempts; ++i) {
        bool is_news = false;
        RedisStatus once = rep_->CheckOnce(*descriptor, keys, n, may_match,
                                           &rep_->verified_by, &is_news);
        if (!is_news) return once;
      }
      return MakeStatus(RedisError::kUnverified, rep_->opened_name, kRestarts);
    });
  }
  // If bits are lost, the others that were read beside them are not to be
  // trusted either.
  if (!status.ok()) std::fill(may_match, may_match + n, true);
  rep_->client->Count([&](RedisFilterStatistics* all) {
    all->checks += n;
    all->absent +=
        static_cast<uint64_t>(std::count(may_match, may_match + n, false));
  });
  return rep_->Count(status);
}

void RedisFilter::MayMatch(const std::string_view* keys, size_t n,
                           bool* may_match) {
  if (Check(keys, n, may_match).ok()) return;
  rep_->client->Count(
      [n](RedisFilterStatistics* all) { all->failed_open += n; });
}

RedisStatus RedisFilter::ReadBits(std::string* bits) {
  return rep_->WithDescriptor([&](const DescriptorRef& descriptor) {
    const uint64_t size = descriptor->scheme.bits;
    // Until every shard was verified, before as after, by the same server.
    Identities verified_by;
    for (int i = 0; i < Rep::kAttempts; ++i) {
      bool is_news = i == 0;
      RedisStatus status = rep_->CheckOnce(*descriptor, nullptr, 0, nullptr,
                                           &verified_by, &is_news);
      if (!status.ok() || !is_news) return status;
      bits->assign((size + 7) / 8, '\0');
      for (const Shard& shard : descriptor->Shards()) {
        status = Download(*rep_->client, *descriptor, shard,
                          bits->data() + shard.begin);
        if (!status.ok()) return status;
      }
      for (char& byte : *bits) byte = ReverseBits(byte);
      // Bits beyond the last one belong to no key.
      const uint64_t used = (size - 1) % 8 + 1;
      bits->back() = static_cast<char>(bits->back() & ((1 << used) - 1));
    }
    return MakeStatus(RedisError::kUnverified, rep_->opened_name, kRestarts);
  });
}

}  // namespace deltabloom
