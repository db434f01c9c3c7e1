// The lines of a policy in the LOGs of databases: its configuration, the
// statistics, and that filters of another key transform were found. RocksDB
// passes a LOG to builders only, so lines come when a builder is made.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "engines/rocksdb/base/options.h"
#include "engines/rocksdb/statistics/statistics.h"
#include "rocksdb/env.h"
#include "util/mutex.h"

namespace deltabloom::internal {

// Thread-safe. A LOG is known by the address of its logger: one at the address
// of a LOG that was closed continues its interval of statistics.
class PolicyLog {
 public:
  // Writes the lines that the LOG, which may be null, does not have yet: of a
  // policy with these options, this error in the text that it was made from,
  // this name in tables, and these statistics, which may be null. A line for
  // which memory has run out comes with the next builder.
  void Write(const PolicyOptions& options, const std::string& error,
             const char* name, const PolicyStatistics* statistics,
             rocksdb::Logger* log) noexcept;

  // A database is opened: each LOG gets the configuration once more.
  void RepeatConfiguration();

  // `problem` says how a filter that was just read differs from the policy's
  // key transform. The first one is written.
  void KeepMismatch(std::string problem);

 private:
  using Clock = std::chrono::steady_clock;

  // The configuration that a LOG has, and when it got the statistics or was
  // seen first.
  struct LogState {
    std::string text;
    std::string header;  // of it; loggers keep headers for good
    Clock::time_point statistics = Clock::now();
  };

  LogState& StateOf(const rocksdb::Logger* log) DELTABLOOM_WITH_LOCK(mutex_);
  void WriteConfiguration(const PolicyOptions& options,
                          const std::string& error, const char* name,
                          rocksdb::Logger* log) noexcept;
  void WriteMismatch(const PolicyOptions& options,
                     rocksdb::Logger* log) noexcept;
  void WriteStatistics(const PolicyStatistics& statistics, uint32_t seconds,
                       rocksdb::Logger* log) noexcept;

  Mutex mutex_;
  std::map<const rocksdb::Logger*, LogState> logs_
      DELTABLOOM_GUARDED_BY(mutex_);
  std::string mismatch_ DELTABLOOM_GUARDED_BY(mutex_);
  bool mismatch_written_ DELTABLOOM_GUARDED_BY(mutex_) = false;
};

}  // namespace deltabloom::internal
