#include "engines/rocksdb/policy/policy_log.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "engines/rocksdb/base/errors.h"
#include "engines/rocksdb/base/options.h"
#include "engines/rocksdb/policy/policy.h"
#include "engines/rocksdb/statistics/statistics.h"
#include "rocksdb/env.h"
#include "util/cpu.h"
#include "util/mutex.h"
#include "util/version.h"

namespace deltabloom::internal {
namespace {

using rocksdb::Logger;

}  // namespace

void PolicyLog::Write(const PolicyOptions& options, const std::string& error,
                      const char* name, const PolicyStatistics* statistics,
                      Logger* log) noexcept {
  if (log == nullptr) return;
  WriteConfiguration(options, error, name, log);
  WriteMismatch(options, log);
  const uint32_t seconds = options.statistics_log_seconds;
  if (statistics != nullptr && seconds != 0) {
    WriteStatistics(*statistics, seconds, log);
  }
}

void PolicyLog::RepeatConfiguration() {
  const MutexLock lock(mutex_);
  for (auto& [log, state] : logs_) state.text.clear();
}

void PolicyLog::KeepMismatch(std::string problem) {
  const MutexLock lock(mutex_);
  if (mismatch_.empty()) mismatch_ = std::move(problem);
}

PolicyLog::LogState& PolicyLog::StateOf(const Logger* log) {
  constexpr size_t kMostLogs = 1000;  // some of them closed long ago
  if (logs_.size() >= kMostLogs && logs_.count(log) == 0) logs_.clear();
  return logs_[log];
}

// RocksDB itself logs only the policy's name. A rolled LOG repeats the header,
// not the warnings.
void PolicyLog::WriteConfiguration(const PolicyOptions& options,
                                   const std::string& error, const char* name,
                                   Logger* log) noexcept {
  using Level = rocksdb::InfoLogLevel;
  const bool done = WithoutThrowing([&] {
    std::vector<std::pair<Level, std::string>> lines = {
        {Level::HEADER_LEVEL,
         std::string("version ") + kVersion + ": " +
             PrintPolicyOptions(options) + " name=" + name +
             " cpu=" + CpuName(ActiveCpu()) + " rocksdb=" + HeadersVersion()}};
    const std::string& notice = options.notice;
    if (!notice.empty()) lines.emplace_back(Level::WARN_LEVEL, notice);
    if (!error.empty()) {
      lines.emplace_back(Level::ERROR_LEVEL, "not as it was set: " + error);
    }
    std::string text;
    for (const auto& [level, line] : lines) text += line + "\n";
    {
      const MutexLock lock(mutex_);
      LogState& state = StateOf(log);
      if (state.text == text) return;
      state.text = text;
      auto& [level, line] = lines.front();
      if (state.header == line) level = Level::INFO_LEVEL;
      state.header = line;
    }
    for (const auto& [level, line] : lines) {
      rocksdb::Log(level, log, "[deltabloom] %s", line.c_str());
    }
  });
  if (done) return;
  const MutexLock lock(mutex_);
  logs_.erase(log);
}

void PolicyLog::WriteMismatch(const PolicyOptions& options,
                              Logger* log) noexcept {
  const MutexLock lock(mutex_);
  if (mismatch_.empty() || mismatch_written_) return;
  const char* const first = mismatch_.c_str();
  mismatch_written_ = WithoutThrowing([&] {
    rocksdb::Warn(
        log,
        "[deltabloom] filters of another key transform than key_transform=%s "
        "are ignored, every key may match until compaction replaces them; "
        "the first that was found %s",
        options.key_transform.c_str(), first);
  });
}

void PolicyLog::WriteStatistics(const PolicyStatistics& statistics,
                                uint32_t seconds, Logger* log) noexcept {
  WithoutThrowing([&] {
    {
      const auto now = Clock::now();
      const MutexLock lock(mutex_);
      LogState& state = StateOf(log);
      const std::chrono::duration<double> passed = now - state.statistics;
      if (passed.count() < seconds) return;
      state.statistics = now;
    }
    std::istringstream lines(statistics.Get().ToText());
    for (std::string line; std::getline(lines, line);) {
      rocksdb::Info(log, "[deltabloom] %s", line.c_str());
    }
  });
}

}  // namespace deltabloom::internal
