// Decides whether the servers that answered a call have every acknowledged key.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "shared_filters/redis/client.h"
#include "shared_filters/redis/descriptor.h"
#include "util/mutex.h"

namespace deltabloom::internal {

// Asks for the fields that show whether a server has every acknowledged key of
// a shard: id, run_id, replid, durable.
Request AskIdentity(const Shard& names);

// Why the reply to AskIdentity and the servers that answered do not prove it.
// Empty if they do.
std::string WhyUnverified(const RedisReply& reply,
                          const std::vector<ServerIdentity>& servers);

// For each shard, by the key of its descriptor, the identity of the server by
// which it was last found verified. Thread-safe.
class Identities {
 public:
  Identities() = default;
  Identities(const Identities&) = delete;
  Identities& operator=(const Identities&) = delete;

  // Empty if it was not verified.
  std::string Of(const std::string& descriptor_key) const {
    const MutexLock lock(mutex_);
    const auto found = identities_.find(descriptor_key);
    return found == identities_.end() ? "" : found->second;
  }
  void Set(const std::string& descriptor_key, const std::string& identity) {
    const MutexLock lock(mutex_);
    identities_[descriptor_key] = identity;
  }

 private:
  mutable Mutex mutex_;
  std::map<std::string, std::string> identities_ DELTABLOOM_GUARDED_BY(mutex_);
};

}  // namespace deltabloom::internal
