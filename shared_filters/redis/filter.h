// The state of a RedisFilter.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "deltabloom/redis_filter.h"
#include "shared_filters/redis/client.h"
#include "shared_filters/redis/descriptor.h"
#include "shared_filters/redis/verify.h"
#include "util/mutex.h"

namespace deltabloom {

namespace internal {

// An invalid argument: what is wrong with it.
RedisStatus Invalid(const std::string& name, const std::string& what);

// Reads the descriptor of `name`, or of the filter that it was moved to.
RedisStatus ReadDescriptor(Client& client, const std::string& name,
                           Descriptor* descriptor);

}  // namespace internal

struct __attribute__((visibility("hidden"))) RedisFilter::Rep {
  Rep(const RedisOptions& redis, std::string name,
      internal::DescriptorRef descriptor)
      : client(std::make_shared<internal::Client>(redis)),
        opened_name(std::move(name)),
        current(std::move(descriptor)) {}

  // A filter that has not contacted Redis, or what is wrong with the options:
  // `problem` with the filter's.
  static RedisStatus Make(const RedisOptions& redis, const std::string& name,
                          std::string problem,
                          internal::DescriptorRef descriptor,
                          std::unique_ptr<RedisFilter>* filter);

  // The descriptor as it is known; reads it if it never was.
  RedisStatus Get(internal::DescriptorRef* descriptor);
  // Reads it again, since this one (or null) is not up to date.
  RedisStatus Reload(internal::DescriptorRef* descriptor);

  static constexpr int kAttempts = 4;

  // Calls `once` with the descriptor, and again with a new one if it fails with
  // kMismatch: another filter has the name.
  template <typename Once>
  RedisStatus WithDescriptor(Once once) {
    internal::DescriptorRef descriptor;
    RedisStatus status = Get(&descriptor);
    for (int i = 0; status.ok() && i < kAttempts; ++i) {
      status = once(descriptor);
      if (status.error != RedisError::kMismatch) return status;
      status = Reload(&descriptor);
    }
    if (!status.ok()) return status;
    return internal::MakeStatus(RedisError::kMismatch, opened_name,
                                "it was replaced several times meanwhile");
  }

  // Looks up the keys in one pipeline. If there are none, it checks whether
  // every shard is verified. Updates *identities. Sets *is_news if a shard is
  // verified by another identity than it has there: what was read before is
  // then void.
  RedisStatus CheckOnce(const internal::Descriptor& descriptor,
                        const std::string_view* keys, size_t n, bool* may_match,
                        internal::Identities* identities, bool* is_news);
  // Counts a call that ended with this status, and returns it.
  RedisStatus Count(RedisStatus status);

  const std::shared_ptr<internal::Client> client;
  const std::string opened_name;

  internal::Identities verified_by;

  internal::Mutex mutex;
  internal::DescriptorRef current DELTABLOOM_GUARDED_BY(mutex);
};

}  // namespace deltabloom
