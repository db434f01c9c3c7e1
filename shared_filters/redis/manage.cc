// Making, opening, describing, rotating and deleting filters.
#include <algorithm>
#include <cmath>

#include "shared_filters/redis/filter_rep.h"
#include "shared_filters/redis/options.h"
#include "shared_filters/redis/transfer.h"

namespace deltabloom {

using internal::Client;
using internal::Descriptor;
using internal::MakeStatus;
using internal::Reply;
using internal::Request;
using internal::Retry;
using internal::View;
using internal::ViewRef;

namespace internal {

constexpr int kMaxMoves = 8;

std::chrono::milliseconds LongTimeout(const RedisOptions& options) {
  return std::max(options.command_timeout, std::chrono::milliseconds(10000));
}

RedisStatus ReadDescriptor(Client* client, const std::string& name,
                           Descriptor* descriptor) {
  std::string here = name;
  for (int moves = 0; moves <= kMaxMoves; ++moves) {
    Request request("HGETALL");
    request.Key(RootDescriptor(here));
    Reply reply;
    const RedisStatus status = client->RunOne(request, Retry::kSafe, &reply);
    if (!status.ok()) return status;
    const Endpoint endpoint = client->EndpointOf(request.key());
    if (reply->elements == 0) {
      return MakeStatus(RedisError::kMissing, endpoint, here,
                        "no filter of this name (it was never created, has "
                        "expired, or was deleted; a bitmap of another program "
                        "is to be adopted)");
    }
    const std::string error = descriptor->Parse(here, *reply);
    if (!error.empty()) {
      return MakeStatus(RedisError::kMismatch, endpoint, request.key(),
                        "not a descriptor that can be read: " + error);
    }
    if (descriptor->moved_to.empty()) return {};
    here = descriptor->moved_to;
  }
  return MakeStatus(RedisError::kMismatch, name,
                    "it was moved more than 8 times in a row");
}

RedisStatus StatusOfAnswer(const Client& client, const Request& request,
                           const redisReply& reply) {
  const auto status = [&](RedisError error, const char* what) {
    return MakeStatus(error, client.EndpointOf(request.key()), request.key(),
                      what);
  };
  if (reply.type != REDIS_REPLY_INTEGER) {
    return status(RedisError::kServer, "a reply of an unexpected form");
  }
  if (reply.integer >= 0) return {};
  switch (reply.integer) {
    case kOtherFilter:
      return status(RedisError::kMismatch,
                    "the filter was deleted or replaced");
    case kNoMarker:
      return status(RedisError::kMissing,
                    "the bits are lost (expired, evicted or flushed); nothing "
                    "was added: rebuild the filter, or delete and create it");
    case kRebuildRuns:
      return status(RedisError::kBusy,
                    "a rebuild is running, or died less than its lease ago");
    case kRebuildLost:
      return status(RedisError::kBusy,
                    "the rebuild was lost: its lease ran out, or another took "
                    "over; the live bitmap is as it was");
    case kBadUpload:
      return status(RedisError::kMismatch,
                    "the uploaded bitmap is not what was sent; the live bitmap "
                    "is as it was");
    default:
      return status(RedisError::kServer, "a reply of an unexpected form");
  }
}

namespace {

RedisStatus Invalid(const std::string& name, const std::string& what) {
  return MakeStatus(RedisError::kInvalidArgument, name, what);
}

RedisStatus Connect(const RedisOptions& redis, const std::string& name,
                    std::shared_ptr<Client>* client) {
  const std::string error = redis.Validate();
  if (!error.empty()) {
    const bool no_tls = redis.tls.enabled && error.rfind("TLS needs", 0) == 0;
    return MakeStatus(
        no_tls ? RedisError::kUnsupported : RedisError::kInvalidArgument, name,
        error);
  }
  *client = std::make_shared<Client>(redis);
  return {};
}

Request MakeCreate(const Descriptor& descriptor, const std::string& key,
                   const std::vector<std::string>& bitmaps, uint32_t shard,
                   bool filled_by_rebuild) {
  Request request(kCreateScript, static_cast<uint32_t>(1 + bitmaps.size()));
  request.Key(key);
  for (const std::string& bitmap : bitmaps) request.Key(bitmap);
  request.Number(descriptor.BlocksOf(shard)).Number(descriptor.MarkerOf(0));
  request.Number(static_cast<uint64_t>(descriptor.expire_after.count()));
  request.Number(filled_by_rebuild ? 1 : 0);
  for (const auto& [field, value] : descriptor.Fields()) {
    request.Word(field).Word(value);
  }
  return request;
}

RedisStatus RunCreate(Client* client, const Request& request,
                      const Descriptor& descriptor) {
  Reply reply;
  RedisStatus status = client->RunOne(request, Retry::kNo,
                                      LongTimeout(client->options()), &reply);
  if (status.ok() && reply->integer > 0) {
    status = MakeStatus(
        RedisError::kExists, client->EndpointOf(request.key()), descriptor.name,
        reply->integer == 1
            ? "there is a filter of this name already"
            : "there is a key of this name already that is no filter of "
              "Deltabloom's: adopt it, or delete it first");
  }
  return status;
}

// Retires every shard, then the root. `moved_to`: empty to delete.
RedisStatus Retire(Client* client, const View& view,
                   const std::string& moved_to) {
  const Descriptor& descriptor = view.descriptor;
  const std::string root = RootDescriptor(descriptor.name);
  RedisStatus first;
  const auto run = [&](const Request& request) {
    Reply reply;
    const RedisStatus status = client->RunOne(request, Retry::kSafe, &reply);
    if (first.ok()) first = status;
  };
  for (uint32_t shard = 0; shard < descriptor.shards; ++shard) {
    const ShardKeys& keys = view.shards[shard];
    const bool is_root = keys.descriptor == root && !moved_to.empty();
    Request request(kRetireScript, 2 + descriptor.generations);
    request.Key(keys.descriptor).Key(keys.rebuild);
    for (uint32_t g = 0; g < descriptor.generations; ++g) {
      request.Key(view.Bitmap(shard, g));
    }
    request.Word(descriptor.id).Number(is_root ? 1 : 0).Word(moved_to);
    run(request);
  }
  if (descriptor.shards > 1 && first.ok()) {
    Request request(kRetireScript, 1);
    request.Key(root).Word(descriptor.id);
    request.Number(moved_to.empty() ? 0 : 1).Word(moved_to);
    run(request);
  }
  return first;
}

// Are the bitmaps strings of the right size, as far as they are there?
RedisStatus CheckStrings(Client* client, const View& view) {
  const Descriptor& descriptor = view.descriptor;
  std::vector<Request> requests;
  for (const std::string& bitmap : view.bitmaps) {
    requests.emplace_back("STRLEN");
    requests.back().Key(bitmap);
  }
  std::vector<Reply> replies;
  RedisStatus status = client->Run(requests, Retry::kSafe, &replies);
  for (size_t i = 0; status.ok() && i < replies.size(); ++i) {
    status = client->ErrorOf(requests[i], *replies[i]);
    if (!status.ok()) return status;
    const auto shard = static_cast<uint32_t>(i / descriptor.generations);
    const uint64_t expected = descriptor.StringBytes(shard);
    const auto size = static_cast<uint64_t>(replies[i]->integer);
    if (size > expected ||
        (!descriptor.adopted() && size != 0 && size != expected)) {
      return MakeStatus(RedisError::kWrongSize,
                        client->EndpointOf(requests[i].key()),
                        requests[i].key(),
                        "the bitmap has " + std::to_string(size) +
                            " bytes, and a filter of " +
                            std::to_string(descriptor.scheme.bits) + " bits " +
                            (descriptor.adopted() ? "at most " : "") +
                            std::to_string(expected));
    }
  }
  return status;
}

}  // namespace
}  // namespace internal

RedisFilter::RedisFilter(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}
RedisFilter::~RedisFilter() = default;

RedisStatus RedisFilter::Create(const RedisOptions& redis,
                                const RedisFilterOptions& options,
                                std::unique_ptr<RedisFilter>* filter) {
  Descriptor descriptor;
  const std::string error = internal::Resolve(options, &descriptor);
  if (!error.empty()) return internal::Invalid(options.name, error);
  std::shared_ptr<Client> client;
  RedisStatus status = internal::Connect(redis, options.name, &client);
  if (!status.ok()) return status;
  descriptor.id = internal::RandomId();
  auto rep = std::make_unique<Rep>(client, options.name, descriptor);
  const ViewRef view = rep->CurrentView();
  if (descriptor.shards > 1) {
    const std::string root = internal::RootDescriptor(descriptor.name);
    status = internal::RunCreate(
        client.get(), internal::MakeCreate(descriptor, root, {}, 0, false),
        descriptor);
    if (!status.ok()) return status;
  }
  for (uint32_t shard = 0; shard < descriptor.shards; ++shard) {
    const auto first =
        view->bitmaps.begin() + ptrdiff_t{shard} * descriptor.generations;
    status = internal::RunCreate(
        client.get(),
        internal::MakeCreate(descriptor, view->shards[shard].descriptor,
                             {first, first + descriptor.generations}, shard,
                             options.filled_by_rebuild),
        descriptor);
    if (!status.ok()) {
      if (descriptor.shards > 1) internal::Retire(client.get(), *view, "");
      return status;
    }
  }
  filter->reset(new RedisFilter(std::move(rep)));
  return {};
}

RedisStatus RedisFilter::Open(const RedisOptions& redis,
                              const std::string& name,
                              std::unique_ptr<RedisFilter>* filter) {
  const std::string error = internal::CheckName(name);
  if (!error.empty()) return internal::Invalid(name, error);
  std::shared_ptr<Client> client;
  RedisStatus status = internal::Connect(redis, name, &client);
  if (!status.ok()) return status;
  Descriptor descriptor;
  status = internal::ReadDescriptor(client.get(), name, &descriptor);
  if (!status.ok()) return status;
  auto rep = std::make_unique<Rep>(client, name, std::move(descriptor));
  status = internal::CheckStrings(client.get(), *rep->CurrentView());
  if (status.ok()) filter->reset(new RedisFilter(std::move(rep)));
  return status;
}

RedisStatus RedisFilter::Adopt(const RedisOptions& redis,
                               const RedisFilterOptions& options,
                               std::unique_ptr<RedisFilter>* filter) {
  Descriptor descriptor;
  const std::string error = internal::Resolve(options, &descriptor);
  if (!error.empty()) return internal::Invalid(options.name, error);
  if (descriptor.scheme.is_local()) {
    return internal::Invalid(options.name,
                             "no other program fills bitmaps of scheme local: "
                             "open it");
  }
  if (options.generations > 1 || options.expire_after.count() > 0) {
    return internal::Invalid(options.name,
                             "an adopted bitmap has neither generations nor an "
                             "expiry of ours");
  }
  std::shared_ptr<Client> client;
  RedisStatus status = internal::Connect(redis, options.name, &client);
  if (!status.ok()) return status;
  Request request("HGET");
  request.Key(internal::RootDescriptor(descriptor.name)).Word("id");
  Reply reply;
  status = client->RunOne(request, Retry::kSafe, &reply);
  if (!status.ok()) return status;
  if (internal::IsText(*reply)) {
    return MakeStatus(RedisError::kMismatch, client->EndpointOf(request.key()),
                      descriptor.name,
                      "it is a filter of Deltabloom's: open it");
  }
  auto rep = std::make_unique<Rep>(client, options.name, std::move(descriptor));
  status = internal::CheckStrings(client.get(), *rep->CurrentView());
  if (status.ok()) filter->reset(new RedisFilter(std::move(rep)));
  return status;
}

RedisStatus RedisFilter::Delete() {
  const ViewRef view = rep_->CurrentView();
  if (!view->descriptor.adopted()) {
    return internal::Retire(rep_->client.get(), *view, "");
  }
  const internal::ShardKeys& keys = view->shards[0];
  Request request("UNLINK");
  request.Key(keys.live).Key(keys.descriptor).Key(keys.rebuild);
  Reply reply;
  return rep_->client->RunOne(request, Retry::kSafe, &reply);
}

RedisStatus RedisFilter::MoveTo(const std::string& name) {
  std::string error = internal::CheckName(name);
  const ViewRef view = rep_->CurrentView();
  const std::string& old_name = view->descriptor.name;
  if (error.empty() && name == old_name) error = "that is its name already";
  if (error.empty() && view->descriptor.adopted()) {
    error = "other programs' bitmaps cannot be moved";
  }
  if (!error.empty()) return internal::Invalid(old_name, error);
  Descriptor target;
  RedisStatus status =
      internal::ReadDescriptor(rep_->client.get(), name, &target);
  if (!status.ok()) return status;
  if (target.name == old_name) {
    return internal::Invalid(old_name, "the other filter was moved to it");
  }
  status = internal::Retire(rep_->client.get(), *view, name);
  return status.ok() ? rep_->Reload(view) : status;
}

RedisStatus RedisFilter::Rotate(bool force, bool* rotated) {
  if (rotated != nullptr) *rotated = false;
  const ViewRef view = rep_->CurrentView();
  const Descriptor& descriptor = view->descriptor;
  if (descriptor.generations < 2) {
    return MakeStatus(RedisError::kUnsupported, descriptor.name,
                      "it was created with one generation");
  }
  const auto period = static_cast<uint64_t>(descriptor.max_age.count()) /
                      (descriptor.generations - 1);
  for (uint32_t shard = 0; shard < descriptor.shards; ++shard) {
    const internal::ShardKeys& keys = view->shards[shard];
    Request request(internal::kRotateScript, 2 + descriptor.generations);
    request.Key(keys.descriptor).Key(keys.rebuild);
    for (uint32_t g = 0; g < descriptor.generations; ++g) {
      request.Key(view->Bitmap(shard, g));
    }
    request.Word(descriptor.id).Number(force ? 0 : period);
    request.Number(descriptor.BlocksOf(shard)).Number(descriptor.MarkerOf(0));
    Reply reply;
    RedisStatus status = rep_->client->RunOne(
        request, Retry::kNo, internal::LongTimeout(rep_->client->options()),
        &reply);
    if (status.ok()) {
      status = internal::StatusOfAnswer(*rep_->client, request, *reply);
    }
    if (!status.ok()) return status;
    if (rotated != nullptr && reply->integer == 1) *rotated = true;
  }
  return {};
}

}  // namespace deltabloom
