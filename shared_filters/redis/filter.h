// The state of a RedisFilter, and what its methods share.
#ifndef DELTABLOOM_SHARED_FILTERS_REDIS_FILTER_H_
#define DELTABLOOM_SHARED_FILTERS_REDIS_FILTER_H_

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "deltabloom/redis_filter.h"
#include "shared_filters/redis/client.h"
#include "shared_filters/redis/descriptor.h"

namespace deltabloom {
namespace internal {

// A descriptor as it was read, and the names that follow from it.
struct View {
  explicit View(Descriptor from) : descriptor(std::move(from)) {
    for (uint32_t shard = 0; shard < descriptor.shards; ++shard) {
      shards.emplace_back(descriptor.name, shard, descriptor.shards);
    }
  }

  const Descriptor descriptor;
  std::vector<ShardKeys> shards;
};

using ViewRef = std::shared_ptr<const View>;

// Asks for what tells whether a server has every acknowledged key of a shard.
Request AskIdentity(const ShardKeys& shard);

// Why the reply to AskIdentity and the servers that answered do not prove it.
// Empty if they do.
std::string WhyUnverified(const RedisReply& reply,
                          const std::vector<ServerIdentity>& servers);

// The status of what a script returned: OK for 0 or more.
RedisStatus StatusOfAnswer(const Client& client, const std::string& key,
                           const RedisReply& reply);

inline RedisStatus OddReply(const Client& client, const std::string& key) {
  return client.StatusAt(RedisError::kServer, key,
                         "a reply of an unexpected form");
}

inline RedisStatus Lost(const Client& client, const std::string& key) {
  return client.StatusAt(RedisError::kMissing, key,
                         "the bits are lost (expired, evicted or flushed): "
                         "rebuild the filter, or delete and create it");
}

inline RedisStatus Invalid(const std::string& name, const std::string& what) {
  return MakeStatus(RedisError::kInvalidArgument, name, what);
}

// Long enough for calls that keep a server busy.
std::chrono::milliseconds LongTimeout(const RedisOptions& options);

// The byte with its bits in reverse order: in Redis, bit 0 is the highest bit
// of the first byte.
unsigned char ReverseBits(unsigned char byte);

}  // namespace internal

struct __attribute__((visibility("hidden"))) RedisFilter::Rep {
  Rep(std::shared_ptr<internal::Client> the_client, std::string name,
      internal::ViewRef the_view)
      : client(std::move(the_client)),
        opened_name(std::move(name)),
        view(std::move(the_view)) {}

  // The descriptor as it is known; reads it if it never was.
  RedisStatus GetView(internal::ViewRef* view);
  // Reads the descriptor again, since `seen` (or null) is not up to date.
  RedisStatus Reload(const internal::ViewRef& seen);

  // How often a filter is looked for that is replaced again and again.
  static constexpr int kAttempts = 4;

  // Calls `once` with the view, and again with a new one if it sets
  // *other_filter.
  template <typename Once>
  RedisStatus WithView(Once once) {
    for (int i = 0; i < kAttempts; ++i) {
      internal::ViewRef seen;
      RedisStatus status = GetView(&seen);
      if (!status.ok()) return status;
      bool other_filter = false;
      status = once(*seen, &other_filter);
      if (!other_filter) return status;
      status = Reload(seen);
      if (!status.ok()) return status;
    }
    return internal::MakeStatus(RedisError::kMismatch, opened_name,
                                "it is replaced again and again");
  }

  RedisStatus Check(const std::string_view* keys, size_t n, bool* may_match);
  RedisStatus CheckOnce(const internal::View& seen,
                        const std::string_view* keys, size_t n, bool* may_match,
                        bool* other_filter, bool* is_news);
  RedisStatus Add(const std::string_view* keys, size_t n, bool* is_new);
  RedisStatus AddOnce(const internal::View& seen, const std::string_view* keys,
                      size_t n, bool* is_new, bool* other_filter);
  RedisStatus CheckKeySizes(const std::string_view* keys, size_t n) const;
  void CountError(const RedisStatus& status);

  const std::shared_ptr<internal::Client> client;
  const std::string opened_name;

  mutable std::mutex mutex;
  internal::ViewRef view;  // guarded, as is
  std::string last_error;
  std::map<std::string, std::string> verified_by;  // descriptor: its identity

  std::atomic<uint64_t> checks{0};
  std::atomic<uint64_t> absent{0};
  std::atomic<uint64_t> adds{0};
  std::atomic<uint64_t> failed_open{0};
  std::atomic<uint64_t> lost_bits{0};
};

}  // namespace deltabloom

#endif  // DELTABLOOM_SHARED_FILTERS_REDIS_FILTER_H_
