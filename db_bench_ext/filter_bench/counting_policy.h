// Counts how a database asks its filters.
#ifndef DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_COUNTING_POLICY_H_
#define DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_COUNTING_POLICY_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "rocksdb/filter_policy.h"

namespace deltabloom::bench {

struct FilterCalls {
  std::atomic<uint64_t> single_keys{0};
  std::atomic<uint64_t> batches{0};
  std::atomic<uint64_t> batch_keys{0};
};

// Does what `policy` does; its readers count into *calls, which must outlive
// the database.
std::shared_ptr<const rocksdb::FilterPolicy> NewCountingPolicy(
    std::shared_ptr<const rocksdb::FilterPolicy> policy, FilterCalls* calls);

}  // namespace deltabloom::bench

#endif  // DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_COUNTING_POLICY_H_
