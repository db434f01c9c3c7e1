// Making, opening, confirming, moving and deleting filters.
#include "shared_filters/redis/filter.h"

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "deltabloom/redis_filter.h"
#include "shared_filters/redis/client.h"
#include "shared_filters/redis/connection.h"
#include "shared_filters/redis/descriptor.h"
#include "util/mutex.h"

namespace deltabloom {

namespace internal {

RedisStatus Invalid(const std::string& name, const std::string& what) {
  return MakeStatus(RedisError::kInvalidArgument, name, what);
}

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

}  // namespace internal

using namespace internal;  // NOLINT
using Kind = RedisReply::Kind;

namespace {

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

// Fails if a bitmap exists and is not a string of the right size.
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
  {
    const MutexLock lock(mutex);
    *descriptor = current;
  }
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
  const MutexLock lock(mutex);
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

}  // namespace deltabloom
