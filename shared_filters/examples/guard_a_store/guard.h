// A RocksDB store guarded by a filter that services in other languages share.
//
// The filter rejects ids that do not exist without a read of the store. It
// never rejects one that does:
//   - Redis away, slow, emptied or restarted: every id may exist (fail open);
//   - an id that was stored while Redis was away is not in the filter: until a
//     rebuild has read it from the store, this process reads the store for
//     every id. (Other services cannot know: Put tells the caller.)
#pragma once

#include <rocksdb/db.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "deltabloom/redis_filter.h"

struct GuardStatistics {
  uint64_t lookups = 0;       // Get and Claim
  uint64_t refused = 0;       // of these, by the filter alone
  uint64_t store_reads = 0;   // the others
  uint64_t false_maybes = 0;  // of those, in vain
  uint64_t failed_open = 0;   // lookups that Redis did not answer
  uint64_t rebuilds = 0;
  uint64_t failed_rebuilds = 0;
  bool behind = false;  // the filter lacks ids of the store
};

// Thread-safe.
class Guard {
 public:
  // Opens or makes the store. Redis may be away.
  Guard(const std::string& path, const deltabloom::RedisOptions& redis,
        const deltabloom::RedisFilterOptions& filter);

  enum class Found { kNo, kYes, kError };
  Found Get(const std::string& id, std::string* value);

  // kBehind: stored, but not yet in the filter.
  enum class Stored { kYes, kBehind, kError };
  Stored Put(const std::string& id, const std::string& value);

  // Has this order number been used? If not, it is from now on. The store
  // decides: a number must not be used twice, however Redis fails.
  enum class Claimed { kNew, kUsed, kError };
  Claimed Claim(const std::string& order);

  // Reads all ids from the store into a filter that takes the place of the one
  // in Redis, if there is one. It is called before the first lookup, too.
  // Returns why it failed, or an empty string. Lookups, adds and neighbours go
  // on.
  std::string Rebuild();

  bool NeedsRebuild() const { return behind_; }
  GuardStatistics Statistics() const;

 private:
  std::string RebuildFilter();
  bool MayExist(const std::string& id);
  Found Read(const std::string& id, std::string* value);

  const deltabloom::RedisOptions redis_;
  const deltabloom::RedisFilterOptions options_;
  std::unique_ptr<rocksdb::DB> store_;

  std::unique_ptr<deltabloom::RedisFilter> filter_;
  std::mutex rebuild_mutex_;

  // From the start until a rebuild is through, and after a failed add.
  std::atomic<bool> behind_{true};
  std::atomic<uint64_t> failed_adds_{0};

  // Two clients with the same order number at once: one of them is first.
  std::array<std::mutex, 64> claims_;

  std::atomic<uint64_t> lookups_{0}, refused_{0}, store_reads_{0};
  std::atomic<uint64_t> false_maybes_{0}, failed_open_{0};
  std::atomic<uint64_t> rebuilds_{0}, failed_rebuilds_{0};
};
