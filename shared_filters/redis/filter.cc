// Making, opening, describing and deleting filters; checks and adds.
#include "shared_filters/redis/filter.h"

#include "shared_filters/memory/atomic_bits.h"

namespace deltabloom {

using namespace internal;  // NOLINT
using std::chrono::milliseconds;
using Kind = RedisReply::Kind;

namespace {

constexpr char kRestarts[] = "Redis restarted or failed over repeatedly";

RedisStatus Invalid(const std::string& name, const std::string& what) {
  return MakeStatus(RedisError::kInvalidArgument, name, what);
}

// The bits of one key, in the shard that has them.
struct Spots {
  const Shard* names;
  uint64_t marker;
  const uint64_t* offsets;
};

struct Batch {
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

  std::map<uint32_t, Part> shards;  // of these keys; without keys, all
  std::vector<Spots> spots;
  std::vector<uint64_t> offsets;
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

// Asks for the fields that show whether a server has every acknowledged key of
// a shard.
Request AskIdentity(const Shard& names) {
  return Request("HMGET", names.descriptor, "id", "run_id", "replid",
                 "durable");
}

// Why the reply to AskIdentity and the servers that answered do not prove it.
// Empty if they do.
std::string WhyUnverified(const RedisReply& reply,
                          const std::vector<ServerIdentity>& servers) {
  if (reply.elements.size() != 4) return "its descriptor cannot be read";
  for (const ServerIdentity& server : servers) {
    if (server.run_id.empty() || server.replid.empty()) {
      return "INFO does not identify the server (" + server.refusal + ")";
    }
    if (!server.is_master) return "the server is a replica";
    const bool known = reply.elements[1].text == server.run_id &&
                       reply.elements[2].text == server.replid;
    if (!known && !(reply.elements[3].text == "1" && server.is_durable)) {
      return "Redis restarted or failed over and may lack keys: confirm or "
             "rebuild the filter";
    }
  }
  return "";
}

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

RedisStatus CheckKeySizes(const std::string& name, const std::string_view* keys,
                          size_t n) {
  size_t largest = 0;
  for (size_t i = 0; i < n; ++i) largest = std::max(largest, keys[i].size());
  if (largest <= size_t{1} << 20) return {};
  return Invalid(name, "a key has " + std::to_string(largest) +
                           " bytes: at most 1 MiB is allowed");
}

// Reads the descriptor of `name`, or of the filter that it was moved to.
RedisStatus ReadDescriptor(Client& client, const std::string& name,
                           Descriptor* descriptor) {
  constexpr int kMaxMoves = 8;
  std::string here = name;
  for (int moves = 0; moves <= kMaxMoves; ++moves) {
    const std::string key = DescriptorOf(here);
    RedisReply reply;
    const RedisStatus status = client.Run(Request("HGETALL", key), {}, &reply);
    if (!status.ok()) return status;
    if (reply.elements.empty()) {
      return client.StatusAt(
          RedisError::kMissing, here,
          "no filter of this name (it was never created, has expired, or was "
          "deleted; a bitmap of another program must be adopted)");
    }
    const std::string error = descriptor->Parse(here, reply);
    if (!error.empty()) {
      return client.StatusAt(RedisError::kMismatch, key,
                             "not a readable descriptor: " + error);
    }
    if (descriptor->moved_to.empty()) return {};
    here = descriptor->moved_to;
  }
  return MakeStatus(RedisError::kMismatch, name,
                    "it was moved more than 8 times in a row");
}

// Retires every shard, then the root. `moved_to`: empty to delete.
RedisStatus Retire(Client& client, const Descriptor& descriptor,
                   const std::string& moved_to) {
  const std::string root = DescriptorOf(descriptor.name);
  RedisStatus first_error;
  const auto retire = [&](std::initializer_list<std::string> keys) {
    const bool moves = *keys.begin() == root && !moved_to.empty();
    const RedisStatus status = client.Run(
        Request(kRetireScript, keys, descriptor.id, moves, moved_to));
    // Another filter of this name is not ours to retire.
    if (first_error.ok() && status.error != RedisError::kMismatch) {
      first_error = status;
    }
  };
  for (const Shard& shard : descriptor.Shards()) {
    retire({shard.descriptor, shard.rebuild, shard.live});
  }
  if (descriptor.shards > 1 && first_error.ok()) retire({root});
  return first_error;
}

RedisStatus CreateKeys(Client& client, const Descriptor& descriptor,
                       bool filled_by_rebuild) {
  const std::string root = DescriptorOf(descriptor.name);
  const auto create = [&](std::initializer_list<std::string> keys,
                          uint64_t blocks) {
    Request request(kCreateScript, keys, blocks, descriptor.MarkerOf(0),
                    descriptor.expire_after.count(), filled_by_rebuild,
                    descriptor.durable,
                    *keys.begin() == root ? descriptor.scheme.bits / 8 : 0);
    for (const auto& [field, value] : descriptor.Fields()) {
      request.Append(field, value);
    }
    RedisReply reply;
    const RedisStatus status =
        client.Run(std::move(request), {Retry::kNo, true}, &reply);
    if (!status.ok() || reply.integer == 0) return status;
    return client.StatusAt(
        RedisError::kExists, descriptor.name,
        reply.integer == 1
            ? "there is a filter of this name already"
            : "there is a key of this name already that is no filter of "
              "Deltabloom: adopt it, or delete it first");
  };
  RedisStatus status;
  if (descriptor.shards > 1) status = create({root}, 0);
  if (!status.ok()) return status;
  for (const Shard& shard : descriptor.Shards()) {
    status = create({shard.descriptor, shard.live}, shard.blocks);
    if (!status.ok()) break;
  }
  if (!status.ok() && descriptor.shards > 1) Retire(client, descriptor, "");
  return status;
}

// Are the bitmaps strings of the right size, as far as they exist?
RedisStatus CheckStrings(Client& client, const Descriptor& descriptor) {
  std::vector<Request> requests;
  for (const Shard& shard : descriptor.Shards()) {
    requests.emplace_back("STRLEN", shard.live);
  }
  Replies replies;
  const RedisStatus status = client.Run(requests, {}, &replies);
  if (!status.ok()) return status;
  for (uint32_t shard = 0; shard < descriptor.shards; ++shard) {
    const uint64_t expected = descriptor.StringBytes(shard);
    const auto size = static_cast<uint64_t>(replies[shard].integer);
    if (size == 0 || size == expected ||
        (descriptor.adopted() && size < expected)) {
      continue;
    }
    return client.StatusAt(RedisError::kWrongSize, requests[shard].key,
                           "the bitmap has " + std::to_string(size) +
                               " bytes, and the filter " +
                               std::to_string(expected));
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

RedisFilter::RedisFilter(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}
RedisFilter::~RedisFilter() = default;

RedisStatus RedisFilter::Rep::Make(const RedisOptions& redis,
                                   const std::string& name, std::string problem,
                                   DescriptorRef descriptor,
                                   std::unique_ptr<RedisFilter>* filter) {
  if (problem.empty()) problem = redis.Validate();
  if (!problem.empty()) return Invalid(name, problem);
  filter->reset(new RedisFilter(
      std::make_unique<Rep>(redis, name, std::move(descriptor))));
  return {};
}

RedisStatus RedisFilter::Create(const RedisOptions& redis,
                                const RedisFilterOptions& options,
                                std::unique_ptr<RedisFilter>* filter) {
  const auto descriptor = std::make_shared<Descriptor>();
  std::unique_ptr<RedisFilter> made;
  RedisStatus status =
      Rep::Make(redis, options.name, Resolve(options, descriptor.get()),
                descriptor, &made);
  descriptor->id = RandomId();
  if (status.ok()) {
    status =
        CreateKeys(*made->rep_->client, *descriptor, options.filled_by_rebuild);
  }
  if (status.ok()) *filter = std::move(made);
  return status;
}

RedisStatus RedisFilter::OpenLazily(const RedisOptions& redis,
                                    const std::string& name,
                                    std::unique_ptr<RedisFilter>* filter) {
  return Rep::Make(redis, name, CheckName(name), nullptr, filter);
}

RedisStatus RedisFilter::Open(const RedisOptions& redis,
                              const std::string& name,
                              std::unique_ptr<RedisFilter>* filter) {
  std::unique_ptr<RedisFilter> opened;
  DescriptorRef descriptor;
  RedisStatus status = OpenLazily(redis, name, &opened);
  if (status.ok()) status = opened->rep_->Get(&descriptor);
  if (status.ok()) status = CheckStrings(*opened->rep_->client, *descriptor);
  if (status.ok()) *filter = std::move(opened);
  return status;
}

RedisStatus RedisFilter::Adopt(const RedisOptions& redis,
                               const RedisFilterOptions& options,
                               std::unique_ptr<RedisFilter>* filter) {
  const auto descriptor = std::make_shared<Descriptor>();
  std::string problem = Resolve(options, descriptor.get());
  if (problem.empty() && descriptor->scheme.is_local()) {
    problem = "no other program fills bitmaps of scheme local: open it";
  }
  if (problem.empty() && options.expire_after.count() > 0) {
    problem = "an adopted bitmap has no expiry";
  }
  std::unique_ptr<RedisFilter> made;
  RedisStatus status =
      Rep::Make(redis, options.name, problem, descriptor, &made);
  if (!status.ok()) return status;
  Client& client = *made->rep_->client;
  RedisReply reply;
  status =
      client.Run(Request("HGET", DescriptorOf(options.name), "id"), {}, &reply);
  if (status.ok() && reply.kind == Kind::kText) {
    status = client.StatusAt(RedisError::kMismatch, descriptor->name,
                             "Deltabloom created this filter: open it");
  }
  if (status.ok()) status = CheckStrings(client, *descriptor);
  if (status.ok()) *filter = std::move(made);
  return status;
}

RedisStatus RedisFilter::Rep::Get(DescriptorRef* descriptor) {
  std::unique_lock lock(mutex);
  *descriptor = current;
  lock.unlock();
  return *descriptor == nullptr ? Reload(descriptor) : RedisStatus();
}

RedisStatus RedisFilter::Rep::Reload(DescriptorRef* descriptor) {
  const auto fresh = std::make_shared<Descriptor>();
  const RedisStatus status = ReadDescriptor(*client, opened_name, fresh.get());
  if (!status.ok()) return status;
  if (*descriptor != nullptr && fresh->id == (*descriptor)->id) {
    // The root is what it was: a shard of it is not there.
    return client->BitsLost(fresh->name);
  }
  *descriptor = fresh;
  const std::lock_guard lock(mutex);
  current = fresh;
  return {};
}

RedisStatus RedisFilter::Delete() {
  DescriptorRef descriptor;
  const RedisStatus status = rep_->Get(&descriptor);
  if (status.error == RedisError::kMissing) return {};
  if (!status.ok()) return status;
  if (!descriptor->adopted()) return Retire(*rep_->client, *descriptor, "");
  const Shard names = descriptor->ShardAt(0);
  return rep_->client->Run(
      Request("UNLINK", names.live, names.descriptor, names.rebuild));
}

RedisStatus RedisFilter::Confirm() {
  return rep_->WithDescriptor([&](const DescriptorRef& descriptor) {
    if (descriptor->adopted()) {
      return Invalid(descriptor->name,
                     "an adopted bitmap has no descriptor to confirm");
    }
    RedisStatus status;
    for (const Shard& shard : descriptor->Shards()) {
      status = rep_->client->Run(
          Request(kConfirmScript, {shard.descriptor}, descriptor->id));
      if (!status.ok()) break;
    }
    return status;
  });
}

RedisStatus RedisFilter::MoveTo(const std::string& name) {
  DescriptorRef descriptor;
  RedisStatus status = rep_->Get(&descriptor);
  if (!status.ok()) return status;
  const std::string& old_name = descriptor->name;
  std::string problem = CheckName(name);
  if (problem.empty() && name == old_name) problem = "that is its name already";
  if (problem.empty() && descriptor->adopted()) {
    problem = "bitmaps of other programs cannot be moved";
  }
  if (!problem.empty()) return Invalid(old_name, problem);
  Descriptor target;
  status = ReadDescriptor(*rep_->client, name, &target);
  if (status.ok() && target.name == old_name) {
    status = Invalid(old_name, "the other filter was moved to it");
  }
  if (status.ok()) status = Retire(*rep_->client, *descriptor, name);
  return status.ok() ? rep_->Reload(&descriptor) : status;
}

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

RedisStatus RedisFilter::ReadBits(std::string* bits) {
  return rep_->WithDescriptor([&](const DescriptorRef& descriptor) {
    const uint64_t size = descriptor->scheme.bits;
    // Until every shard was verified, before as after, by the same server.
    Rep::Identities verified_by;
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

RedisFilterStatistics RedisFilter::Statistics() const {
  return rep_->client->Statistics();
}

RedisStatus RedisFilter::Rep::Count(RedisStatus status) {
  if (!status.ok()) {
    client->Count([&](RedisFilterStatistics* all) {
      if (status.error == RedisError::kMissing) ++all->lost_bits;
      all->last_error = status.message;
    });
  }
  return status;
}

RedisStatus RedisFilter::Rep::CheckOnce(const Descriptor& descriptor,
                                        const std::string_view* keys, size_t n,
                                        bool* may_match, Identities* identities,
                                        bool* is_news) {
  const Batch batch(descriptor, keys, n);
  std::vector<Request> requests;
  std::vector<size_t> asked;  // keys, by request: together those of a shard
  for (const auto& [number, shard] : batch.shards) {
    for (const size_t key : shard.keys) {
      requests.push_back(AskBits(descriptor, batch.spots[key]));
      asked.push_back(key);
    }
  }
  // Last: they vouch for all that was read before. Is it the filter that was
  // opened, on a server that has all of it? Of an adopted one: is it there?
  for (const auto& [number, shard] : batch.shards) {
    requests.push_back(descriptor.adopted()
                           ? Request("EXISTS", shard.names.live)
                           : AskIdentity(shard.names));
  }
  std::vector<std::string> known;  // before anything is read
  {
    const std::lock_guard lock(mutex);
    for (size_t i = n; i < requests.size(); ++i) {
      known.push_back((*identities)[requests[i].key]);
    }
  }
  const CallOptions how{Retry::kSafe, false, !descriptor.adopted()};
  Replies replies;
  RedisStatus status = client->Run(requests, how, &replies);
  if (!status.ok()) return status;
  std::string unverified;
  for (size_t i = n; i < requests.size(); ++i) {
    const RedisReply& reply = replies[i];
    const std::string& key = requests[i].key;
    if (descriptor.adopted()) {
      if (reply.integer != 0) continue;
      return client->BitsLost(key);
    }
    if (reply.elements.size() != 4 || reply.elements[0].text != descriptor.id) {
      return {RedisError::kMismatch, ""};
    }
    if (!unverified.empty()) continue;
    unverified = WhyUnverified(reply, replies.servers);
    const std::string by =
        descriptor.id + reply.elements[1].text + reply.elements[2].text;
    const std::lock_guard lock(mutex);
    if (unverified.empty() && known[i - n] != by) *is_news = true;
    (*identities)[key] = unverified.empty() ? by : "";
  }
  for (size_t i = 0; i < n; ++i) {
    const size_t key = asked[i];
    may_match[key] = true;
    const RedisStatus one = ReadAnswer(*client, descriptor, batch.spots[key],
                                       replies[i], &may_match[key]);
    if (status.ok()) status = one;
  }
  if (status.ok() && !unverified.empty()) {
    status =
        client->StatusAt(RedisError::kUnverified, descriptor.name, unverified);
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

void RedisFilter::MayMatch(const std::string_view* keys, size_t n,
                           bool* may_match) {
  if (Check(keys, n, may_match).ok()) return;
  rep_->client->Count(
      [n](RedisFilterStatistics* all) { all->failed_open += n; });
}

}  // namespace deltabloom
