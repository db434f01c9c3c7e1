// Building a filter anew while others read and fill it.
#include <algorithm>
#include <thread>

#include "shared_filters/redis/filter_rep.h"
#include "shared_filters/redis/transfer.h"

namespace deltabloom {

using internal::Descriptor;
using internal::MakeStatus;
using internal::Reply;
using internal::Request;
using internal::Retry;
using internal::ShardKeys;
using internal::ViewRef;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

struct __attribute__((visibility("hidden"))) RedisRebuild::Rep {
  Rep(std::shared_ptr<internal::Client> the_client, ViewRef the_view,
      const RedisRebuildOptions& the_options)
      : client(std::move(the_client)),
        view(std::move(the_view)),
        options(the_options),
        token(internal::RandomId()),
        replace(!view->descriptor.adopted() || options.writers_stopped) {}

  const Descriptor& descriptor() const { return view->descriptor; }

  RedisStatus Run(const Request& request, Retry retry) const;
  RedisStatus Begin();
  RedisStatus Renew();
  RedisStatus RenewIfDue();
  RedisStatus Cancelled() const;
  RedisStatus Settle();
  RedisStatus FinishShard(uint32_t shard, RedisRebuildResult* result);
  void Abort();

  // Where the shard begins in the bitmap, and its size; bytes.
  uint64_t ShardBegin(uint32_t shard) const {
    return shard * descriptor().shard_blocks * internal::kBlockBytes;
  }
  uint64_t ShardSize(uint32_t shard) const {
    return descriptor().shards == 1
               ? bitmap.size()
               : descriptor().BlocksOf(shard) * internal::kBlockBytes;
  }

  const std::shared_ptr<internal::Client> client;
  const ViewRef view;
  const RedisRebuildOptions options;
  const std::string token;
  const bool replace;  // else merely add

  std::vector<unsigned char> bitmap;  // in Redis's order, no markers
  uint64_t keys = 0;
  uint32_t done_shards = 0;
  bool begun = false;
  bool uploading = false;
  RedisStatus lost;  // of a renewal
  Clock::time_point renewed_at;
};

RedisStatus RedisRebuild::Rep::Run(const Request& request, Retry retry) const {
  Reply reply;
  const RedisStatus status = client->RunOne(
      request, retry, internal::LongTimeout(client->options()), &reply);
  if (!status.ok()) return status;
  return internal::StatusOfAnswer(*client, request, *reply);
}

RedisStatus RedisRebuild::Rep::Begin() {
  const auto lease = static_cast<uint64_t>(options.lease.count());
  bitmap.assign((descriptor().scheme.bits + 7) / 8, 0);
  renewed_at = Clock::now();
  for (uint32_t shard = 0; replace && shard < descriptor().shards; ++shard) {
    const ShardKeys& names = view->shards[shard];
    Request request(internal::kRebuildBeginScript, 2);
    request.Key(names.descriptor).Key(names.rebuild).Word(descriptor().id);
    request.Word(token).Number(lease).Number(options.take_over ? 1 : 0);
    request.Number(descriptor().BlocksOf(shard));
    request.Number(descriptor().MarkerOf(0));
    // Asked twice, it finds its own token and begins anew.
    const RedisStatus status = Run(request, Retry::kSafe);
    if (!status.ok()) return status;
    begun = true;
  }
  return {};
}

RedisStatus RedisRebuild::Rep::Renew() {
  const auto lease = static_cast<uint64_t>(options.lease.count());
  for (uint32_t shard = done_shards; replace && shard < descriptor().shards;
       ++shard) {
    const ShardKeys& names = view->shards[shard];
    Request request(internal::kRebuildRenewScript, 3);
    request.Key(names.descriptor).Key(names.rebuild);
    request.Key(names.Upload(token)).Word(token).Number(lease);
    request.Number(descriptor().adopted() ? 1 : 0);
    Reply reply;
    const RedisStatus status = client->RunOne(request, Retry::kSafe, &reply);
    if (!status.ok()) return status;
    if (reply->integer != 1) {
      reply->integer = internal::kRebuildLost;
      return internal::StatusOfAnswer(*client, request, *reply);
    }
  }
  return {};
}

RedisStatus RedisRebuild::Rep::RenewIfDue() {
  const Clock::time_point now = Clock::now();
  if (!lost.ok() || now - renewed_at < options.lease / 4) return lost;
  renewed_at = now;
  const RedisStatus status = Renew();
  // A server that is away for a moment may be back for the next renewal.
  if (status.error == RedisError::kBusy) lost = status;
  return lost;
}

RedisStatus RedisRebuild::Rep::Cancelled() const {
  if (!options.cancelled || !options.cancelled()) return {};
  return MakeStatus(RedisError::kCancelled, descriptor().name,
                    "the rebuild was cancelled");
}

RedisStatus RedisRebuild::Rep::Settle() {
  const Clock::time_point until = Clock::now() + options.settle;
  const milliseconds nap =
      std::min(options.lease / 4, milliseconds(options.cancelled ? 100 : 1000));
  while (Clock::now() < until) {
    std::this_thread::sleep_for(
        std::min<Clock::duration>(until - Clock::now(), nap));
    RedisStatus status = Cancelled();
    if (status.ok()) status = RenewIfDue();
    if (!status.ok()) return status;
  }
  return {};
}

RedisStatus RedisRebuild::Rep::FinishShard(uint32_t shard,
                                           RedisRebuildResult* result) {
  const ShardKeys& names = view->shards[shard];
  const std::string upload = names.Upload(token);
  const unsigned char* bytes = bitmap.data() + ShardBegin(shard);
  const uint64_t count = internal::CountBits(bytes, ShardSize(shard));
  uploading = true;
  const RedisStatus status = internal::Upload(
      client.get(), upload, bytes, ShardSize(shard), options.lease,
      [&](uint64_t done) {
        if (options.progress) {
          options.progress(ShardBegin(shard) + done, bitmap.size());
        }
        const RedisStatus wish = Cancelled();
        return wish.ok() ? RenewIfDue() : wish;
      },
      &result->uploaded_bytes);
  if (!status.ok()) return status;
  result->set_bits += count;
  if (!replace) {
    Request request(internal::kMergeScript, 2);
    request.Key(names.live).Key(upload).Number(count);
    return Run(request, Retry::kNo);
  }
  Request request(internal::kRebuildFinishScript, 4);
  request.Key(names.live).Key(names.descriptor).Key(names.rebuild);
  request.Key(upload).Word(token).Number(count);
  request.Number(descriptor().adopted() ? 1 : 0);
  return Run(request, Retry::kNo);
}

void RedisRebuild::Rep::Abort() {
  if (!replace) {
    Request request("UNLINK");
    request.Key(view->shards[0].Upload(token));
    Reply reply;
    if (uploading) client->RunOne(request, Retry::kSafe, &reply);
    uploading = false;
    return;
  }
  if (!begun) return;
  begun = false;
  for (uint32_t shard = done_shards; shard < descriptor().shards; ++shard) {
    const ShardKeys& names = view->shards[shard];
    Request request(internal::kRebuildAbortScript, 3);
    request.Key(names.descriptor).Key(names.rebuild);
    request.Key(names.Upload(token)).Word(token);
    Reply reply;
    client->RunOne(request, Retry::kSafe, &reply);
  }
}

RedisRebuild::RedisRebuild(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}
RedisRebuild::~RedisRebuild() { rep_->Abort(); }

void RedisRebuild::Add(std::string_view key) {
  uint64_t offsets[internal::kMaxProbes];
  const internal::Scheme& scheme = rep_->descriptor().scheme;
  scheme.Offsets(key, offsets);
  for (uint32_t i = 0; i < scheme.probes; ++i) {
    internal::SetRedisBit(rep_->bitmap.data(), offsets[i]);
  }
  constexpr uint64_t kKeysBetweenLooks = 1024;
  if (++rep_->keys % kKeysBetweenLooks == 0) rep_->RenewIfDue();
}

bool RedisRebuild::AddBits(std::string_view bits) {
  if (bits.size() != rep_->bitmap.size()) return false;
  for (size_t i = 0; i < bits.size(); ++i) {
    rep_->bitmap[i] = static_cast<unsigned char>(
        rep_->bitmap[i] |
        internal::ReverseBits(static_cast<unsigned char>(bits[i])));
  }
  return true;
}

RedisStatus RedisRebuild::Finish(RedisRebuildResult* result) {
  RedisRebuildResult unwanted;
  if (result == nullptr) result = &unwanted;
  *result = {};
  const Clock::time_point start = Clock::now();
  RedisStatus status = rep_->lost;
  if (status.ok() && rep_->replace && !rep_->begun) {
    status = MakeStatus(RedisError::kInvalidArgument, rep_->descriptor().name,
                        "the rebuild is over already");
  }
  for (uint32_t shard = 0; status.ok() && shard < rep_->descriptor().shards;
       ++shard) {
    status = rep_->FinishShard(shard, result);
    if (status.ok()) rep_->done_shards = shard + 1;
  }
  if (status.ok() && rep_->options.progress) {
    rep_->options.progress(rep_->bitmap.size(), rep_->bitmap.size());
  }
  result->keys = rep_->keys;
  result->replaced = status.ok() && rep_->replace;
  result->upload_time =
      std::chrono::duration_cast<milliseconds>(Clock::now() - start);
  if (status.ok()) {
    rep_->begun = rep_->uploading = false;
  } else {
    rep_->Abort();
  }
  return status;
}

RedisStatus RedisFilter::StartRebuild(const RedisRebuildOptions& options,
                                      std::unique_ptr<RedisRebuild>* rebuild) {
  ViewRef view = rep_->CurrentView();
  const std::string& name = view->descriptor.name;
  if (options.settle.count() < 0 || options.lease.count() < 100) {
    return MakeStatus(RedisError::kInvalidArgument, name,
                      "settle must not be negative, and lease 100 ms or more");
  }
  if (view->descriptor.generations > 1) {
    return MakeStatus(RedisError::kUnsupported, name,
                      "a filter of several generations is not rebuilt: it "
                      "forgets by Rotate");
  }
  std::unique_ptr<RedisRebuild> made;
  RedisStatus status;
  constexpr int kTries = 2;  // the second if it was replaced meanwhile
  for (int i = 0; i < kTries; ++i) {
    made.reset(new RedisRebuild(
        std::make_unique<RedisRebuild::Rep>(rep_->client, view, options)));
    status = made->rep_->Begin();
    if (status.error != RedisError::kMismatch) break;
    const RedisStatus reloaded = rep_->Reload(view);
    if (!reloaded.ok()) return reloaded;
    view = rep_->CurrentView();
  }
  if (status.ok()) status = made->rep_->Settle();
  if (status.ok()) *rebuild = std::move(made);
  return status;
}

}  // namespace deltabloom
