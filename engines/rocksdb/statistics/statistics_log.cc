#include "engines/rocksdb/statistics/statistics_log.h"

#include <string>

#include "rocksdb/env.h"

namespace deltabloom::internal {

// A log that takes the address of a closed one goes on with its interval, which
// does no harm.
bool StatisticsLog::IsDue(uint64_t seconds, const void* log) {
  constexpr size_t kMostLogs = 1000;  // some of them closed long ago
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = last_.find(log);
  if (found == last_.end()) {
    if (last_.size() >= kMostLogs) last_.clear();
    last_[log] = now;
    return false;
  }
  if (std::chrono::duration<double>(now - found->second).count() <
      static_cast<double>(seconds)) {
    return false;
  }
  found->second = now;
  return true;
}

void StatisticsLog::Write(const PolicyStatistics& statistics, uint64_t seconds,
                          ROCKSDB_NAMESPACE::Logger* log) {
  if (seconds == 0 || log == nullptr || !IsDue(seconds, log)) return;
  const std::string text = statistics.Get().ToText();
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    ROCKSDB_NAMESPACE::Info(log, "[deltabloom] %s",
                            text.substr(begin, end - begin).c_str());
    begin = end + 1;
  }
}

}  // namespace deltabloom::internal
