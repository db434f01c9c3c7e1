// What stands behind a RedisFilter.
#ifndef DELTABLOOM_SHARED_FILTERS_REDIS_FILTER_REP_H_
#define DELTABLOOM_SHARED_FILTERS_REDIS_FILTER_REP_H_

#include <atomic>
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
      shards.push_back(descriptor.KeysOf(shard));
      for (uint32_t i = 0; i < descriptor.generations; ++i) {
        bitmaps.push_back(shards.back().Generation(i));
      }
    }
  }

  const std::string& Bitmap(uint32_t shard, uint32_t generation) const {
    return bitmaps[shard * descriptor.generations + generation];
  }

  const Descriptor descriptor;
  std::vector<ShardKeys> shards;
  std::vector<std::string> bitmaps;
};

using ViewRef = std::shared_ptr<const View>;

// Reads the descriptor of `name`, and that of the filter it was moved to.
RedisStatus ReadDescriptor(Client* client, const std::string& name,
                           Descriptor* descriptor);

// A script's answer of one number: OK for 0 or more, else what it means.
RedisStatus StatusOfAnswer(const Client& client, const Request& request,
                           const redisReply& reply);

RedisStatus OddReply(const Client& client, const std::string& key);

// Long enough for what takes a server a while.
std::chrono::milliseconds LongTimeout(const RedisOptions& options);

}  // namespace internal

struct __attribute__((visibility("hidden"))) RedisFilter::Rep {
  Rep(std::shared_ptr<internal::Client> the_client, std::string name,
      internal::Descriptor descriptor)
      : client(std::move(the_client)),
        opened_name(std::move(name)),
        view(std::make_shared<const internal::View>(std::move(descriptor))) {}

  internal::ViewRef CurrentView() const {
    const std::lock_guard lock(mutex);
    return view;
  }

  // Reads the descriptor again, since `seen` is not what is there.
  RedisStatus Reload(const internal::ViewRef& seen);

  RedisStatus Check(const std::string_view* keys, size_t n, bool* may_match);
  RedisStatus CheckOnce(const internal::View& seen,
                        const std::string_view* keys, size_t n, bool* may_match,
                        bool* other_filter);
  RedisStatus Add(const std::string_view* keys, size_t n, bool* is_new);
  RedisStatus AddOnce(const internal::View& seen, const std::string_view* keys,
                      size_t n, bool* is_new, bool* other_filter);

  void CountError(const RedisStatus& status);

  const std::shared_ptr<internal::Client> client;
  const std::string opened_name;

  mutable std::mutex mutex;
  internal::ViewRef view;  // guarded, as is
  std::string last_error;

  std::atomic<uint64_t> checks{0};
  std::atomic<uint64_t> absent{0};
  std::atomic<uint64_t> adds{0};
  std::atomic<uint64_t> failed_open{0};
  std::atomic<uint64_t> lost_bits{0};
};

}  // namespace deltabloom

#endif  // DELTABLOOM_SHARED_FILTERS_REDIS_FILTER_REP_H_
