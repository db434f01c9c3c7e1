// Which bits a call about many keys is about.
#ifndef DELTABLOOM_SHARED_FILTERS_REDIS_BATCH_H_
#define DELTABLOOM_SHARED_FILTERS_REDIS_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "deltabloom/redis_filter.h"
#include "shared_filters/redis/descriptor.h"

namespace deltabloom::internal {

// The bits of one key, in the shard that has them.
struct Spots {
  uint32_t shard;
  uint64_t marker;
  const uint64_t* offsets;
};

// The bits of a batch of keys.
class Batch {
 public:
  Batch(const Descriptor& descriptor, const std::string_view* keys, size_t n)
      : spots_(n), offsets_(n * descriptor.scheme.probes) {
    const uint32_t probes = descriptor.scheme.probes;
    for (size_t i = 0; i < n; ++i) {
      uint64_t* const offsets = &offsets_[i * probes];
      descriptor.scheme.Offsets(keys[i], offsets);
      spots_[i].shard = descriptor.ShardOf(offsets[0]);
      for (uint32_t p = 0; p < probes; ++p) {
        offsets[p] = descriptor.OffsetInShard(offsets[p]);
      }
      spots_[i].marker = descriptor.MarkerOf(offsets[0]);
      spots_[i].offsets = offsets;
    }
  }

  const std::vector<Spots>& spots() const { return spots_; }
  const Spots& operator[](size_t i) const { return spots_[i]; }

 private:
  std::vector<Spots> spots_;
  std::vector<uint64_t> offsets_;
};

// A filter that is replaced under a client again and again is looked for this
// often.
inline constexpr int kReplacedAttempts = 4;

// kInvalidArgument if a key is longer than 1 MiB.
RedisStatus CheckKeySizes(const std::string& filter,
                          const std::string_view* keys, size_t n);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_SHARED_FILTERS_REDIS_BATCH_H_
