// Registers the policy when this shared object is loaded, which the preloaded
// plugin does before main, and writes the file of DELTABLOOM_STATISTICS.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "deltabloom/c.h"
#include "engines/rocksdb/policy/policy.h"
#include "engines/rocksdb/statistics/statistics.h"
#include "util/json.h"

namespace deltabloom::internal {
namespace {

constexpr char kFileVariable[] = "DELTABLOOM_STATISTICS";
constexpr char kSecondsVariable[] = "DELTABLOOM_STATISTICS_SECONDS";
constexpr uint32_t kDefaultSeconds = 15;

void Print(const std::string& line) {
  std::fprintf(stderr, "%s\n", line.c_str());
}

void Complain(const std::string& line) { Print("deltabloom: " + line); }

int64_t NowSeconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Writes all of `text` to a new file; errno says what failed.
bool WriteWhole(const std::string& path, const std::string& text) {
  const int file =
      open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
           0644);
  if (file < 0) return false;
  errno = ENOSPC;  // the reason of a short write, which sets none
  const bool written = write(file, text.data(), text.size()) ==
                       static_cast<ssize_t>(text.size());
  return close(file) == 0 && written;
}

class StatisticsFile {
 public:
  StatisticsFile(std::string path, bool json, uint32_t seconds)
      : path_(std::move(path)),
        json_(json),
        seconds_(seconds),
        due_(NowSeconds() + seconds) {}

  // Writes if it is due and no other thread does. The file is replaced as a
  // whole, so that readers never see a part of it.
  void WriteIfDue() {
    int64_t due = due_.load(std::memory_order_relaxed);
    const int64_t now = NowSeconds();
    if (now >= due && due_.compare_exchange_strong(due, now + seconds_)) {
      Write();
    }
  }

  void Write() {
    // After a fork, the child's counters are the parent's.
    if (!CountsInThisProcess()) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    try {
      const std::unique_ptr<char, decltype(&std::free)> text(
          deltabloom_rocksdb_statistics(json_ ? "json" : "prometheus", nullptr),
          std::free);
      if (text == nullptr) return;
      const std::string process = std::to_string(getpid());
      std::string path = path_;
      for (size_t at; (at = path.find("%p")) != std::string::npos;) {
        path.replace(at, 2, process);
      }
      const std::string whole = path + "." + process + ".tmp";
      const bool written =
          WriteWhole(whole, text.get() + std::string(json_ ? "\n" : ""));
      if (written && std::rename(whole.c_str(), path.c_str()) == 0) {
        failed_ = false;
        return;
      }
      const int error = errno;
      unlink(whole.c_str());
      if (std::exchange(failed_, true)) return;
      Complain(std::string(written ? "cannot replace" : "cannot write") +
               " the statistics to " + path + ": " + std::strerror(error) +
               " (" + kFileVariable + ")");
    } catch (const std::exception&) {
      // Out of memory: the file stays as it was.
    }
  }

 private:
  const std::string path_;
  const bool json_;
  const uint32_t seconds_;
  std::atomic<int64_t> due_;  // seconds of the steady clock
  std::mutex mutex_;
  bool failed_ = false;  // and said so, since a write went well
};

// Never destroyed: threads may count lookups until the process ends.
StatisticsFile* statistics_file = nullptr;

uint32_t SecondsOfEnvironment() {
  const char* const text = std::getenv(kSecondsVariable);
  if (text == nullptr) return kDefaultSeconds;
  uint32_t seconds = 0;
  if (ParseNumber(text, &seconds)) return seconds;
  Complain(std::string(kSecondsVariable) + " '" + text +
           "' is not a number of seconds: use 0 to 4294967295, 0 for the end "
           "of the program only; taking " +
           std::to_string(kDefaultSeconds));
  return kDefaultSeconds;
}

// Reads the environment (docs/guide.md). From then on lookups and builds of
// filters write the file at its interval, and the end of the program does. A
// process that made no policy writes nothing. Nothing throws. Called once.
void StartStatisticsFile() {
  try {
    const char* const name = std::getenv(kFileVariable);
    if (name == nullptr || *name == '\0') return;
    const std::filesystem::path path(name);
    const bool json = path.extension() == ".json";
    if (!json && path.extension() != ".prom") {
      Complain(std::string(kFileVariable) + " '" + name +
               "' ends in neither .json nor .prom: nothing is written");
      return;
    }
    // The program may change its working directory.
    const uint32_t seconds = SecondsOfEnvironment();
    statistics_file = new StatisticsFile(
        std::filesystem::absolute(path).string(), json, seconds);
    if (seconds != 0) {
      lookup_tick = [] { statistics_file->WriteIfDue(); };
    }
    std::atexit([] { statistics_file->Write(); });
  } catch (const std::exception& failure) {
    Complain(std::string(kFileVariable) + ": " + failure.what());
  }
}

const bool registered = [] {
  std::string error;
  if (!RegisterRocksDB(&error)) {
    Print(error);
    return false;
  }
  // db_bench, for one, runs on without a filter when its OPTIONS file names a
  // policy that cannot be made.
  SetErrorReporter(Print);
  StartStatisticsFile();
  return true;
}();

}  // namespace
}  // namespace deltabloom::internal
