// Rebuilding a filter while others read and fill it.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "deltabloom/redis_filter.h"
#include "shared_filters/memory/atomic_bits.h"
#include "shared_filters/redis/client.h"
#include "shared_filters/redis/connection.h"
#include "shared_filters/redis/descriptor.h"
#include "shared_filters/redis/filter.h"

namespace deltabloom {

using namespace internal;  // NOLINT
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

struct __attribute__((visibility("hidden"))) RedisRebuild::Rep {
  Rep(std::shared_ptr<Client> the_client, DescriptorRef of,
      const RedisRebuildOptions& the_options)
      : client(std::move(the_client)),
        descriptor(std::move(of)),
        options(the_options),
        token(RandomId()),
        replace(!options.keep_keys &&
                (!descriptor->has_other_writers() || options.writers_stopped)),
        bitmap((descriptor->scheme.bits + 7) / 8, '\0') {}

  RedisStatus Begin() {
    for (const Shard& shard : shards) {
      const Request request(kRebuildBeginScript,
                            {shard.descriptor, shard.rebuild}, descriptor->id,
                            token, options.lease.count(), options.take_over,
                            shard.blocks, descriptor->MarkerOf(0));
      // Sent twice, it finds its own token and begins anew.
      RedisReply reply;
      const RedisStatus status =
          client->Run(request, {Retry::kSafe, true}, &reply);
      if (!status.ok()) return status;
      if (reply.elements.size() != 2) return client->OddReply(request.key);
      servers.push_back(std::move(reply));
      begun = true;
    }
    return {};
  }

  // Renews the lease of a rebuild; 0 ends it.
  RedisStatus Renew(const Shard& shard, int64_t milliseconds_to_live) {
    return client->Run(
        Request(kRebuildRenewScript,
                {shard.descriptor, shard.rebuild, shard.Upload(token)}, token,
                milliseconds_to_live, descriptor->adopted()));
  }

  RedisStatus RenewIfDue() {
    const Clock::time_point now = Clock::now();
    if (!lost.ok() || now - renewed_at < options.lease / 4) return lost;
    renewed_at = now;
    for (size_t i = done_shards; i < shards.size(); ++i) {
      const RedisStatus status = Renew(shards[i], options.lease.count());
      // A server that is away for a moment may be back for the next renewal.
      if (status.error == RedisError::kBusy) lost = status;
      if (!status.ok()) break;
    }
    return lost;
  }

  RedisStatus GoOn() {
    if (options.cancelled && options.cancelled()) {
      return MakeStatus(RedisError::kCancelled, descriptor->name,
                        "the rebuild was cancelled");
    }
    return RenewIfDue();
  }

  RedisStatus Settle() {
    const Clock::time_point until = Clock::now() + options.settle;
    const milliseconds nap = std::min(
        options.lease / 4, milliseconds(options.cancelled ? 100 : 1000));
    while (Clock::now() < until) {
      std::this_thread::sleep_for(
          std::min<Clock::duration>(until - Clock::now(), nap));
      const RedisStatus status = GoOn();
      if (!status.ok()) return status;
    }
    return {};
  }

  // Writes a shard of the bitmap to the string `key`, which must not exist and
  // will expire with the lease; pieces of zeros are left out. *sent: bytes,
  // added to.
  RedisStatus Upload(const std::string& key, const Shard& shard,
                     uint64_t* sent) {
    constexpr uint64_t kPiece = uint64_t{1} << 20;
    RedisStatus status;
    for (uint64_t at = 0; status.ok() && at < shard.size; at += kPiece) {
      const std::string_view piece(&bitmap[shard.begin + at],
                                   std::min(kPiece, shard.size - at));
      if (piece.find_first_not_of('\0') == piece.npos) continue;
      Replies replies;
      status = client->Run({Request("SETRANGE", key, at, piece),
                            Request("PEXPIRE", key, options.lease.count())},
                           {Retry::kSafe, true}, &replies);
      *sent += piece.size();
      if (status.ok() && options.progress) {
        options.progress(shard.begin + at + piece.size(), bitmap.size());
      }
      if (status.ok()) status = GoOn();
    }
    return status;
  }

  RedisStatus FinishShard(RedisRebuildResult* result) {
    const Shard& shard = shards[done_shards];
    const std::string upload = shard.Upload(token);
    uint64_t set_bits = 0;
    for (uint64_t i = 0; i < shard.size; ++i) {
      set_bits += static_cast<uint64_t>(__builtin_popcount(
          static_cast<unsigned char>(bitmap[shard.begin + i])));
    }
    const RedisStatus status = Upload(upload, shard, &result->uploaded_bytes);
    if (!status.ok()) return status;
    result->set_bits += set_bits;
    const std::vector<RedisReply>& server = servers[done_shards].elements;
    return client->Run(
        Request(kRebuildFinishScript,
                {shard.live, shard.descriptor, shard.rebuild, upload}, token,
                set_bits, descriptor->adopted(), server[0].text, server[1].text,
                !replace, !options.keep_keys, descriptor->MarkerOf(0)),
        {Retry::kNo, true});
  }

  void Abort() {
    if (!begun) return;
    begun = false;
    for (size_t i = done_shards; i < shards.size(); ++i) Renew(shards[i], 0);
  }

  const std::shared_ptr<Client> client;
  const DescriptorRef descriptor;
  const std::vector<Shard> shards = descriptor->Shards();
  const RedisRebuildOptions options;
  const std::string token;
  const bool replace;  // else the bits of the live bitmap stay

  std::string bitmap;               // in Redis's order, no markers
  std::vector<RedisReply> servers;  // of each shard, when it began
  uint64_t keys = 0;
  uint32_t done_shards = 0;
  bool begun = false;
  RedisStatus lost;  // of a renewal
  Clock::time_point renewed_at = Clock::now();
};

RedisRebuild::RedisRebuild(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}
RedisRebuild::~RedisRebuild() { rep_->Abort(); }

bool RedisRebuild::Add(std::string_view key) {
  uint64_t offsets[kMaxProbes];
  const auto& scheme = rep_->descriptor->scheme;
  scheme.Offsets(key, offsets);
  bool is_new = false;
  for (uint32_t i = 0; i < scheme.probes; ++i) {
    char& byte = rep_->bitmap[offsets[i] / 8];
    const int mask = 0x80 >> offsets[i] % 8;
    is_new |= (byte & mask) == 0;
    byte = static_cast<char>(byte | mask);
  }
  constexpr uint64_t kKeysBetweenLooks = 1024;
  if (++rep_->keys % kKeysBetweenLooks == 0) rep_->RenewIfDue();
  return is_new;
}

bool RedisRebuild::AddBits(std::string_view bits) {
  if (bits.size() != rep_->bitmap.size()) return false;
  for (size_t i = 0; i < bits.size(); ++i) {
    rep_->bitmap[i] = static_cast<char>(rep_->bitmap[i] | ReverseBits(bits[i]));
  }
  return true;
}

RedisStatus RedisRebuild::Finish(RedisRebuildResult* result) {
  RedisRebuildResult unwanted;
  if (result == nullptr) result = &unwanted;
  *result = {};
  const Clock::time_point start = Clock::now();
  RedisStatus status = rep_->lost;
  if (status.ok() && !rep_->begun) {
    status = MakeStatus(RedisError::kInvalidArgument, rep_->descriptor->name,
                        "the rebuild is over already");
  }
  while (status.ok() && rep_->done_shards < rep_->shards.size()) {
    status = rep_->FinishShard(result);
    if (status.ok()) ++rep_->done_shards;
  }
  if (status.ok() && rep_->options.progress) {
    rep_->options.progress(rep_->bitmap.size(), rep_->bitmap.size());
  }
  result->keys = rep_->keys;
  result->replaced = status.ok() && rep_->replace;
  result->upload_time =
      std::chrono::duration_cast<milliseconds>(Clock::now() - start);
  if (!status.ok()) rep_->Abort();
  rep_->begun = false;
  return status;
}

RedisStatus RedisFilter::StartRebuild(const RedisRebuildOptions& options,
                                      std::unique_ptr<RedisRebuild>* rebuild) {
  if (options.settle.count() < 0 || options.lease.count() < 100) {
    return MakeStatus(RedisError::kInvalidArgument, rep_->opened_name,
                      "settle must not be negative, and lease 100 ms or more");
  }
  std::unique_ptr<RedisRebuild> made;
  RedisStatus status =
      rep_->WithDescriptor([&](const DescriptorRef& descriptor) {
        made.reset(new RedisRebuild(std::make_unique<RedisRebuild::Rep>(
            rep_->client, descriptor, options)));
        return made->rep_->Begin();
      });
  if (status.ok()) status = made->rep_->Settle();
  if (status.ok()) *rebuild = std::move(made);
  return status;
}

}  // namespace deltabloom
