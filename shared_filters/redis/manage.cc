// Making, opening, describing, confirming and deleting filters.
#include <algorithm>
#include <cmath>

#include "shared_filters/redis/filter.h"

namespace deltabloom {

using internal::Client;
using internal::Descriptor;
using internal::Invalid;
using internal::MakeStatus;
using internal::Replies;
using internal::Request;
using internal::Retry;
using internal::ShardKeys;
using internal::View;
using internal::ViewRef;
using std::chrono::milliseconds;

namespace internal {

milliseconds LongTimeout(const RedisOptions& options) {
  return std::max(options.command_timeout, milliseconds(10000));
}

unsigned char ReverseBits(unsigned char byte) {
  unsigned reversed = 0;
  for (unsigned bit = 0; bit < 8; ++bit) {
    reversed = reversed << 1 | (byte >> bit & 1u);
  }
  return static_cast<unsigned char>(reversed);
}

RedisStatus StatusOfAnswer(const Client& client, const std::string& key,
                           const RedisReply& reply) {
  if (reply.kind != RedisReply::Kind::kInteger) return OddReply(client, key);
  if (reply.integer >= 0) return {};
  switch (reply.integer) {
    case kOtherFilter:
      return client.StatusAt(RedisError::kMismatch, key,
                             "the filter was deleted or replaced");
    case kNoMarker:
      return Lost(client, key);
    case kRebuildRuns:
      return client.StatusAt(
          RedisError::kBusy, key,
          "a rebuild is running, or died less than its lease ago");
    case kRebuildLost:
      return client.StatusAt(
          RedisError::kBusy, key,
          "the rebuild was lost: its lease ran out, or another took over; the "
          "live bitmap is unchanged");
    case kBadUpload:
      return client.StatusAt(RedisError::kMismatch, key,
                             "the uploaded bitmap is not what was sent; the "
                             "live bitmap is unchanged");
    case kReplicates:
      return client.StatusAt(
          RedisError::kUnverified, key,
          "the filter is durable, and the server has replicas or was one: "
          "create it without, confirm or rebuild it");
    case kServerChanged:
      return client.StatusAt(
          RedisError::kUnverified, key,
          "Redis restarted or failed over during the rebuild: rebuild again; "
          "the live bitmap is unchanged");
    default:
      return OddReply(client, key);
  }
}

namespace {

// Reads the descriptor of `name`, or of the filter that it was moved to.
RedisStatus ReadDescriptor(Client* client, const std::string& name,
                           Descriptor* descriptor) {
  constexpr int kMaxMoves = 8;
  std::string here = name;
  for (int moves = 0; moves <= kMaxMoves; ++moves) {
    Request request("HGETALL");
    request.Key(RootDescriptor(here));
    RedisReply reply;
    const RedisStatus status = client->RunOne(request, Retry::kSafe, &reply);
    if (!status.ok()) return status;
    if (reply.elements.empty()) {
      return MakeStatus(RedisError::kMissing, client->EndpointOf(request.key()),
                        here,
                        "no filter of this name (it was never created, has "
                        "expired, or was deleted; a bitmap of another program "
                        "must be adopted)");
    }
    const std::string error = descriptor->Parse(here, reply);
    if (!error.empty()) {
      return client->StatusAt(RedisError::kMismatch, request.key(),
                              "not a readable descriptor: " + error);
    }
    if (descriptor->moved_to.empty()) return {};
    here = descriptor->moved_to;
  }
  return MakeStatus(RedisError::kMismatch, name,
                    "it was moved more than 8 times in a row");
}

RedisStatus Connect(const RedisOptions& redis, const std::string& name,
                    std::shared_ptr<Client>* client) {
  const std::string error = redis.Validate();
  if (!error.empty()) return Invalid(name, error);
  *client = std::make_shared<Client>(redis);
  return {};
}

// `bitmap`: empty for the root descriptor of a filter in shards.
RedisStatus RunCreate(Client* client, const Descriptor& descriptor,
                      const std::string& key, const std::string& bitmap,
                      uint32_t shard, bool filled_by_rebuild) {
  Request request(kCreateScript, bitmap.empty() ? 1 : 2);
  request.Key(key);
  if (!bitmap.empty()) request.Key(bitmap);
  request.Number(descriptor.BlocksOf(shard)).Number(descriptor.MarkerOf(0));
  request.Number(static_cast<uint64_t>(descriptor.expire_after.count()));
  request.Number(filled_by_rebuild ? 1 : 0).Number(descriptor.durable ? 1 : 0);
  for (const auto& [field, value] : descriptor.Fields()) {
    request.Word(field).Word(value);
  }
  RedisReply reply;
  RedisStatus status = client->RunOne(request, Retry::kNo,
                                      LongTimeout(client->options()), &reply);
  if (!status.ok()) return status;
  if (reply.integer <= 0) return StatusOfAnswer(*client, key, reply);
  return client->StatusAt(
      RedisError::kExists, descriptor.name,
      reply.integer == 1
          ? "there is a filter of this name already"
          : "there is a key of this name already that is no filter of "
            "Deltabloom: adopt it, or delete it first");
}

// Retires every shard, then the root. `moved_to`: empty to delete.
RedisStatus Retire(Client* client, const View& view,
                   const std::string& moved_to) {
  const Descriptor& descriptor = view.descriptor;
  const std::string root = RootDescriptor(descriptor.name);
  RedisStatus first;
  const auto run = [&](Request request, bool is_root) {
    request.Word(descriptor.id).Number(is_root && !moved_to.empty() ? 1 : 0);
    request.Word(moved_to);
    RedisReply reply;
    const RedisStatus status = client->RunOne(request, Retry::kSafe, &reply);
    if (first.ok()) first = status;
  };
  for (const ShardKeys& keys : view.shards) {
    Request request(kRetireScript, 3);
    request.Key(keys.descriptor).Key(keys.rebuild).Key(keys.live);
    run(std::move(request), keys.descriptor == root);
  }
  if (descriptor.shards > 1 && first.ok()) {
    run(std::move(Request(kRetireScript, 1).Key(root)), true);
  }
  return first;
}

// Are the bitmaps strings of the right size, as far as they exist?
RedisStatus CheckStrings(Client* client, const View& view) {
  const Descriptor& descriptor = view.descriptor;
  std::vector<Request> requests;
  for (const ShardKeys& keys : view.shards) {
    requests.push_back(std::move(Request("STRLEN").Key(keys.live)));
  }
  Replies replies;
  const RedisStatus status =
      client->RunAll(requests, client->options().command_timeout, &replies);
  if (!status.ok()) return status;
  for (uint32_t shard = 0; shard < descriptor.shards; ++shard) {
    const uint64_t expected = descriptor.StringBytes(shard);
    const auto size = static_cast<uint64_t>(replies[shard].integer);
    if (size <= expected &&
        (descriptor.adopted() || size == 0 || size == expected)) {
      continue;
    }
    return client->StatusAt(
        RedisError::kWrongSize, requests[shard].key(),
        "the bitmap has " + std::to_string(size) + " bytes, and a filter of " +
            std::to_string(descriptor.scheme.bits) + " bits " +
            (descriptor.adopted() ? "at most " : "") +
            std::to_string(expected));
  }
  return {};
}

void Describe(const Descriptor& descriptor, RedisFilterInfo* info) {
  info->name = descriptor.name;
  info->scheme = descriptor.scheme.Name();
  info->bits = descriptor.scheme.bits;
  info->probes = descriptor.scheme.probes;
  info->hashes = descriptor.scheme.hashes;
  info->doubled_string = descriptor.scheme.doubled_string;
  info->adopted = descriptor.adopted();
  info->own_writers_only = !descriptor.has_other_writers();
  info->durable = descriptor.durable;
  info->shards = descriptor.shards;
  info->expected_keys = descriptor.expected_keys;
  info->rebuilds = descriptor.rebuilds;
}

void Estimate(const Descriptor& descriptor, uint64_t count,
              RedisFilterInfo* info) {
  uint64_t markers = 0;
  if (!descriptor.adopted()) {
    markers =
        descriptor.scheme.is_local() ? descriptor.scheme.bits / kBlockBits : 1;
  }
  info->set_bits = count - std::min(count, markers);
  info->occupancy = static_cast<double>(info->set_bits) /
                    static_cast<double>(descriptor.scheme.bits);
  info->keys_estimate = KeysOfOccupancy(descriptor.scheme, info->occupancy);
  info->false_positive_rate =
      RateOfOccupancy(descriptor.scheme, info->occupancy);
}

// Reads the first `size` bytes of a string; what it lacks is zero.
RedisStatus Download(Client* client, const std::string& key, size_t size,
                     unsigned char* bytes) {
  constexpr size_t kPiece = size_t{1} << 20;
  constexpr size_t kAtOnce = 8 * kPiece;
  std::fill_n(bytes, size, static_cast<unsigned char>(0));
  for (size_t begin = 0; begin < size; begin += kAtOnce) {
    std::vector<Request> requests;
    const size_t end = std::min(size, begin + kAtOnce);
    for (size_t at = begin; at < end; at += kPiece) {
      requests.emplace_back("GETRANGE");
      requests.back().Key(key).Number(at);
      requests.back().Number(std::min(end, at + kPiece) - 1);
    }
    Replies replies;
    const RedisStatus status =
        client->RunAll(requests, LongTimeout(client->options()), &replies);
    if (!status.ok()) return status;
    for (size_t i = 0; i < requests.size(); ++i) {
      const std::string& text = replies[i].text;
      const size_t to = begin + i * kPiece;
      std::copy_n(text.begin(), std::min(text.size(), size - to), bytes + to);
    }
  }
  return {};
}

}  // namespace
}  // namespace internal

RedisStatus RedisFilter::Rep::GetView(ViewRef* known) {
  {
    const std::lock_guard lock(mutex);
    *known = view;
  }
  if (*known != nullptr) return {};
  const RedisStatus status = Reload(nullptr);
  const std::lock_guard lock(mutex);
  *known = view;
  return status;
}

RedisStatus RedisFilter::Rep::Reload(const ViewRef& seen) {
  Descriptor descriptor;
  const RedisStatus status =
      internal::ReadDescriptor(client.get(), opened_name, &descriptor);
  if (!status.ok()) return status;
  if (seen != nullptr && descriptor.id == seen->descriptor.id) {
    // The root is what it was: a shard of it is not there.
    return internal::Lost(*client, seen->descriptor.name);
  }
  auto fresh = std::make_shared<const View>(std::move(descriptor));
  const std::lock_guard lock(mutex);
  view = std::move(fresh);
  return {};
}

RedisFilter::RedisFilter(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}
RedisFilter::~RedisFilter() = default;

RedisStatus RedisFilter::Create(const RedisOptions& redis,
                                const RedisFilterOptions& options,
                                std::unique_ptr<RedisFilter>* filter) {
  Descriptor descriptor;
  const std::string error = internal::Resolve(options, &descriptor);
  if (!error.empty()) return Invalid(options.name, error);
  std::shared_ptr<Client> client;
  RedisStatus status = internal::Connect(redis, options.name, &client);
  if (!status.ok()) return status;
  descriptor.id = internal::RandomId();
  const auto view = std::make_shared<const View>(descriptor);
  if (descriptor.shards > 1) {
    status = internal::RunCreate(client.get(), descriptor,
                                 internal::RootDescriptor(descriptor.name), "",
                                 0, false);
    if (!status.ok()) return status;
  }
  for (uint32_t shard = 0; shard < descriptor.shards; ++shard) {
    const ShardKeys& keys = view->shards[shard];
    status = internal::RunCreate(client.get(), descriptor, keys.descriptor,
                                 keys.live, shard, options.filled_by_rebuild);
    if (!status.ok()) {
      if (descriptor.shards > 1) internal::Retire(client.get(), *view, "");
      return status;
    }
  }
  filter->reset(
      new RedisFilter(std::make_unique<Rep>(client, options.name, view)));
  return {};
}

RedisStatus RedisFilter::OpenLazily(const RedisOptions& redis,
                                    const std::string& name,
                                    std::unique_ptr<RedisFilter>* filter) {
  const std::string error = internal::CheckName(name);
  if (!error.empty()) return Invalid(name, error);
  std::shared_ptr<Client> client;
  const RedisStatus status = internal::Connect(redis, name, &client);
  if (!status.ok()) return status;
  filter->reset(new RedisFilter(std::make_unique<Rep>(client, name, nullptr)));
  return {};
}

RedisStatus RedisFilter::Open(const RedisOptions& redis,
                              const std::string& name,
                              std::unique_ptr<RedisFilter>* filter) {
  std::unique_ptr<RedisFilter> opened;
  ViewRef view;
  RedisStatus status = OpenLazily(redis, name, &opened);
  if (status.ok()) status = opened->rep_->GetView(&view);
  if (status.ok()) {
    status = internal::CheckStrings(opened->rep_->client.get(), *view);
  }
  if (status.ok()) *filter = std::move(opened);
  return status;
}

RedisStatus RedisFilter::Adopt(const RedisOptions& redis,
                               const RedisFilterOptions& options,
                               std::unique_ptr<RedisFilter>* filter) {
  Descriptor descriptor;
  std::string error = internal::Resolve(options, &descriptor);
  if (error.empty() && descriptor.scheme.is_local()) {
    error = "no other program fills bitmaps of scheme local: open it";
  }
  if (error.empty() && options.expire_after.count() > 0) {
    error = "an adopted bitmap has no expiry";
  }
  if (!error.empty()) return Invalid(options.name, error);
  std::shared_ptr<Client> client;
  RedisStatus status = internal::Connect(redis, options.name, &client);
  if (!status.ok()) return status;
  Request request("HGET");
  request.Key(internal::RootDescriptor(descriptor.name)).Word("id");
  RedisReply reply;
  status = client->RunOne(request, Retry::kSafe, &reply);
  if (!status.ok()) return status;
  if (reply.kind == RedisReply::Kind::kText) {
    return client->StatusAt(RedisError::kMismatch, descriptor.name,
                            "Deltabloom created this filter: open it");
  }
  const auto view = std::make_shared<const View>(std::move(descriptor));
  status = internal::CheckStrings(client.get(), *view);
  if (!status.ok()) return status;
  filter->reset(
      new RedisFilter(std::make_unique<Rep>(client, options.name, view)));
  return {};
}

RedisStatus RedisFilter::Delete() {
  ViewRef view;
  const RedisStatus status = rep_->GetView(&view);
  if (!status.ok()) {
    return status.error == RedisError::kMissing ? RedisStatus() : status;
  }
  if (!view->descriptor.adopted()) {
    return internal::Retire(rep_->client.get(), *view, "");
  }
  const ShardKeys& keys = view->shards[0];
  Request request("UNLINK");
  request.Key(keys.live).Key(keys.descriptor).Key(keys.rebuild);
  RedisReply reply;
  return rep_->client->RunOne(request, Retry::kSafe, &reply);
}

RedisStatus RedisFilter::Confirm() {
  return rep_->WithView([&](const View& view, bool* other_filter) {
    if (view.descriptor.adopted()) {
      return Invalid(view.descriptor.name,
                     "an adopted bitmap has no descriptor to confirm");
    }
    RedisStatus status;
    for (size_t i = 0; status.ok() && i < view.shards.size(); ++i) {
      Request request(internal::kConfirmScript, 1);
      request.Key(view.shards[i].descriptor).Word(view.descriptor.id);
      RedisReply reply;
      status = rep_->client->RunOne(request, Retry::kSafe, &reply);
      if (!status.ok()) break;
      *other_filter = reply.integer == internal::kOtherFilter;
      status = internal::StatusOfAnswer(*rep_->client, request.key(), reply);
    }
    return status;
  });
}

RedisStatus RedisFilter::MoveTo(const std::string& name) {
  ViewRef view;
  RedisStatus status = rep_->GetView(&view);
  if (!status.ok()) return status;
  const std::string& old_name = view->descriptor.name;
  std::string error = internal::CheckName(name);
  if (error.empty() && name == old_name) error = "that is its name already";
  if (error.empty() && view->descriptor.adopted()) {
    error = "bitmaps of other programs cannot be moved";
  }
  if (!error.empty()) return Invalid(old_name, error);
  Descriptor target;
  status = internal::ReadDescriptor(rep_->client.get(), name, &target);
  if (!status.ok()) return status;
  if (target.name == old_name) {
    return Invalid(old_name, "the other filter was moved to it");
  }
  status = internal::Retire(rep_->client.get(), *view, name);
  return status.ok() ? rep_->Reload(view) : status;
}

RedisStatus RedisFilter::Info(RedisFilterInfo* info) {
  *info = {};
  Client* const client = rep_->client.get();
  ViewRef view;
  RedisStatus status = rep_->GetView(&view);
  if (!status.ok()) return status;
  if (!view->descriptor.adopted()) {
    Descriptor now;
    status = internal::ReadDescriptor(client, rep_->opened_name, &now);
    if (!status.ok()) return status;
    view = std::make_shared<const View>(std::move(now));
  }
  const Descriptor& descriptor = view->descriptor;
  internal::Describe(descriptor, info);
  std::vector<Request> requests;
  for (const ShardKeys& keys : view->shards) {
    requests.push_back(std::move(Request("STRLEN").Key(keys.live)));
    requests.push_back(std::move(Request("BITCOUNT").Key(keys.live)));
    requests.push_back(std::move(Request("PTTL").Key(keys.live)));
    requests.push_back(std::move(Request("EXISTS").Key(keys.rebuild)));
    requests.push_back(internal::AskIdentity(keys));
  }
  Replies replies;
  status = client->RunAll(requests, internal::LongTimeout(client->options()),
                          &replies, !descriptor.adopted());
  if (!status.ok()) return status;
  uint64_t count = 0;
  if (descriptor.adopted()) {
    info->unverified = "an adopted bitmap has no descriptor";
  }
  for (size_t i = 0; i < requests.size(); i += 5) {
    info->stored_bytes += static_cast<uint64_t>(replies[i].integer);
    count += static_cast<uint64_t>(replies[i + 1].integer);
    const milliseconds ttl(replies[i + 2].integer);
    if (ttl.count() >= 0 &&
        (info->expires_in.count() < 0 || ttl < info->expires_in)) {
      info->expires_in = ttl;
    }
    if (replies[i + 3].integer != 0) info->rebuilding = true;
    if (info->unverified.empty()) {
      info->unverified =
          internal::WhyUnverified(replies[i + 4], replies.servers);
    }
  }
  info->verified = info->unverified.empty();
  internal::Estimate(descriptor, count, info);
  if (info->stored_bytes == 0 && !descriptor.adopted()) {
    return internal::Lost(*client, requests[0].key());
  }
  return {};
}

RedisStatus RedisFilter::ReadBits(std::string* bits) {
  ViewRef view;
  RedisStatus status = rep_->GetView(&view);
  if (!status.ok()) return status;
  const Descriptor& descriptor = view->descriptor;
  const uint64_t size = (descriptor.scheme.bits + 7) / 8;
  bits->assign(size, '\0');
  auto* bytes = reinterpret_cast<unsigned char*>(bits->data());
  for (uint32_t shard = 0; shard < descriptor.shards; ++shard) {
    status = internal::Download(
        rep_->client.get(), view->shards[shard].live,
        descriptor.shards == 1
            ? size
            : descriptor.BlocksOf(shard) * internal::kBlockBytes,
        bytes + shard * descriptor.shard_blocks * internal::kBlockBytes);
    if (!status.ok()) return status;
  }
  std::transform(bytes, bytes + size, bytes, internal::ReverseBits);
  // What lies beyond the last bit belongs to no key.
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
  statistics.reconnects = rep_->client->reconnects();
  statistics.circuits_opened = rep_->client->circuits_opened();
  const std::lock_guard lock(rep_->mutex);
  statistics.last_error = rep_->last_error;
  return statistics;
}

}  // namespace deltabloom
