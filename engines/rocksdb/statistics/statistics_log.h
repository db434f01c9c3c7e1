// The table of counters in the LOGs of a policy's databases.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_STATISTICS_STATISTICS_LOG_H_
#define DELTABLOOM_ENGINES_ROCKSDB_STATISTICS_STATISTICS_LOG_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>

#include "engines/rocksdb/policy/private_abi.h"
#include "engines/rocksdb/statistics/statistics.h"

namespace deltabloom::internal {

// Thread-safe.
class StatisticsLog {
 public:
  // Writes the table to `log` if `seconds` have passed since it was last
  // written there, or since the first call for this log. 0 seconds, no log:
  // nothing. RocksDB lends a policy its log only while a table is built, so
  // this is for builders to call. Throws std::bad_alloc.
  void Write(const PolicyStatistics& statistics, uint64_t seconds,
             ROCKSDB_NAMESPACE::Logger* log);

 private:
  bool IsDue(uint64_t seconds, const void* log);

  std::mutex mutex_;
  std::map<const void*, std::chrono::steady_clock::time_point> last_;
};

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_STATISTICS_STATISTICS_LOG_H_
