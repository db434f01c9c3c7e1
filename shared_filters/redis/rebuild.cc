// Rebuilding a filter while others read and fill it.
#include <algorithm>
#include <thread>

#include "shared_filters/redis/filter.h"
#include "util/coding.h"

namespace deltabloom {

using internal::Descriptor;
using internal::MakeStatus;
using internal::Replies;
using internal::Request;
using internal::Retry;
using internal::ShardKeys;
using internal::ViewRef;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

uint64_t CountBits(const unsigned char* bytes, size_t size) {
  uint64_t count = 0;
  size_t i = 0;
  for (; i + 8 <= size; i += 8) {
    count += static_cast<uint64_t>(
        __builtin_popcountll(internal::LoadFixed64(bytes + i)));
  }
  for (; i < size; ++i) {
    count += static_cast<uint64_t>(__builtin_popcount(bytes[i]));
  }
  return count;
}

// Writes `size` bytes to the string `key`, which must not exist and will expire
// after `lease`; pieces of zeros are left out. `between` is called after every
// few MiB with the bytes that are done; its error ends the upload. *sent:
// bytes, added to.
RedisStatus Upload(internal::Client* client, const std::string& key,
                   const unsigned char* bytes, size_t size, milliseconds lease,
                   const std::function<RedisStatus(uint64_t)>& between,
                   uint64_t* sent) {
  constexpr size_t kPiece = size_t{1} << 20;  // in one command
  constexpr size_t kPiecesAtOnce = 8;
  std::vector<Request> requests;
  for (size_t at = 0; at < size; at += kPiece) {
    const size_t piece = std::min(kPiece, size - at);
    if (std::any_of(bytes + at, bytes + at + piece,
                    [](unsigned char byte) { return byte != 0; })) {
      requests.emplace_back("SETRANGE");
      requests.back().Key(key).Number(at).Word(
          {reinterpret_cast<const char*>(bytes + at), piece});
      *sent += piece;
    }
    const bool last = at + piece == size;
    if (requests.size() < kPiecesAtOnce && !(last && !requests.empty())) {
      continue;
    }
    requests.emplace_back("PEXPIRE");
    requests.back().Key(key).Number(static_cast<uint64_t>(lease.count()));
    Replies replies;
    RedisStatus status = client->RunAll(
        requests, internal::LongTimeout(client->options()), &replies);
    if (status.ok()) status = between(at + piece);
    if (!status.ok()) return status;
    requests.clear();
  }
  return {};
}

}  // namespace

struct __attribute__((visibility("hidden"))) RedisRebuild::Rep {
  Rep(std::shared_ptr<internal::Client> the_client, ViewRef the_view,
      const RedisRebuildOptions& the_options)
      : client(std::move(the_client)),
        view(std::move(the_view)),
        options(the_options),
        token(internal::RandomId()),
        replace(!options.keep_keys && (!view->descriptor.has_other_writers() ||
                                       options.writers_stopped)) {}

  const Descriptor& descriptor() const { return view->descriptor; }

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
  const bool replace;  // else the bits of the live bitmap stay

  std::vector<unsigned char> bitmap;  // in Redis's order, no markers
  std::vector<RedisReply> servers;    // of each shard, when it began
  uint64_t keys = 0;
  uint32_t done_shards = 0;
  bool begun = false;
  RedisStatus lost;  // of a renewal
  Clock::time_point renewed_at;
};

RedisStatus RedisRebuild::Rep::Begin() {
  const auto lease = static_cast<uint64_t>(options.lease.count());
  bitmap.assign((descriptor().scheme.bits + 7) / 8, 0);
  renewed_at = Clock::now();
  for (uint32_t shard = 0; shard < descriptor().shards; ++shard) {
    const ShardKeys& names = view->shards[shard];
    Request request(internal::kRebuildBeginScript, 2);
    request.Key(names.descriptor).Key(names.rebuild).Word(descriptor().id);
    request.Word(token).Number(lease).Number(options.take_over ? 1 : 0);
    request.Number(descriptor().BlocksOf(shard));
    request.Number(descriptor().MarkerOf(0));
    // Sent twice, it finds its own token and begins anew.
    RedisReply reply;
    RedisStatus status =
        client->RunOne(request, Retry::kSafe,
                       internal::LongTimeout(client->options()), &reply);
    if (status.ok() && reply.elements.size() != 2) {
      status = internal::StatusOfAnswer(*client, request.key(), reply);
    }
    if (!status.ok()) return status;
    servers.push_back(std::move(reply));
    begun = true;
  }
  return {};
}

RedisStatus RedisRebuild::Rep::Renew() {
  const auto lease = static_cast<uint64_t>(options.lease.count());
  for (uint32_t shard = done_shards; shard < descriptor().shards; ++shard) {
    const ShardKeys& names = view->shards[shard];
    Request request(internal::kRebuildRenewScript, 3);
    request.Key(names.descriptor).Key(names.rebuild);
    request.Key(names.Upload(token)).Word(token).Number(lease);
    request.Number(descriptor().adopted() ? 1 : 0);
    RedisReply reply;
    const RedisStatus status = client->RunOne(request, Retry::kSafe, &reply);
    if (!status.ok()) return status;
    if (reply.integer != 1) {
      reply.integer = internal::kRebuildLost;
      return internal::StatusOfAnswer(*client, request.key(), reply);
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
  const uint64_t count = CountBits(bytes, ShardSize(shard));
  RedisStatus status = Upload(
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
  Request request(internal::kRebuildFinishScript, 4);
  request.Key(names.live).Key(names.descriptor).Key(names.rebuild);
  request.Key(upload).Word(token).Number(count);
  request.Number(descriptor().adopted() ? 1 : 0);
  request.Word(servers[shard].elements[0].text);
  request.Word(servers[shard].elements[1].text);
  request.Number(replace ? 0 : 1).Number(options.keep_keys ? 0 : 1);
  request.Number(descriptor().MarkerOf(0));
  RedisReply reply;
  status = client->RunOne(request, Retry::kNo,
                          internal::LongTimeout(client->options()), &reply);
  if (!status.ok()) return status;
  return internal::StatusOfAnswer(*client, names.live, reply);
}

void RedisRebuild::Rep::Abort() {
  if (!begun) return;
  begun = false;
  for (uint32_t shard = done_shards; shard < descriptor().shards; ++shard) {
    const ShardKeys& names = view->shards[shard];
    Request request(internal::kRebuildAbortScript, 3);
    request.Key(names.descriptor).Key(names.rebuild);
    request.Key(names.Upload(token)).Word(token);
    RedisReply reply;
    client->RunOne(request, Retry::kSafe, &reply);
  }
}

RedisRebuild::RedisRebuild(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}
RedisRebuild::~RedisRebuild() { rep_->Abort(); }

bool RedisRebuild::Add(std::string_view key) {
  uint64_t offsets[internal::kMaxProbes];
  const internal::Scheme& scheme = rep_->descriptor().scheme;
  scheme.Offsets(key, offsets);
  bool is_new = false;
  for (uint32_t i = 0; i < scheme.probes; ++i) {
    unsigned char& byte = rep_->bitmap[offsets[i] / 8];
    const unsigned mask = 0x80u >> offsets[i] % 8;
    is_new |= (byte & mask) == 0;
    byte = static_cast<unsigned char>(byte | mask);
  }
  constexpr uint64_t kKeysBetweenLooks = 1024;
  if (++rep_->keys % kKeysBetweenLooks == 0) rep_->RenewIfDue();
  return is_new;
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
  if (status.ok() && !rep_->begun) {
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
    rep_->begun = false;
  } else {
    rep_->Abort();
  }
  return status;
}

RedisStatus RedisFilter::StartRebuild(const RedisRebuildOptions& options,
                                      std::unique_ptr<RedisRebuild>* rebuild) {
  if (options.settle.count() < 0 || options.lease.count() < 100) {
    return internal::Invalid(
        rep_->opened_name,
        "settle must not be negative, and lease 100 ms or more");
  }
  std::unique_ptr<RedisRebuild> made;
  ViewRef view;
  RedisStatus status = rep_->GetView(&view);
  constexpr int kTries = 2;  // the second if it was replaced meanwhile
  for (int i = 0; status.ok() && i < kTries; ++i) {
    made.reset(new RedisRebuild(
        std::make_unique<RedisRebuild::Rep>(rep_->client, view, options)));
    status = made->rep_->Begin();
    if (status.error != RedisError::kMismatch || i + 1 == kTries) break;
    status = rep_->Reload(view);
    if (status.ok()) status = rep_->GetView(&view);
  }
  if (status.ok()) status = made->rep_->Settle();
  if (status.ok()) *rebuild = std::move(made);
  return status;
}

}  // namespace deltabloom
