// Registers the policy when this shared object is loaded, which the preloaded
// plugin does before main, and writes the file of DELTABLOOM_STATISTICS.
#include <fcntl.h>
#include <signal.h>
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
#include <string_view>
#include <system_error>
#include <utility>

#include "deltabloom/c.h"
#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/base/errors.h"
#include "engines/rocksdb/base/process.h"
#include "engines/rocksdb/statistics/lookup_cells.h"
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

constexpr std::string_view kProcess = "%p";

// `text` with the first kProcess replaced by the process number.
std::string ForProcess(std::string text, pid_t process) {
  const size_t at = text.find(kProcess);
  if (at == std::string::npos) return text;
  return text.replace(at, kProcess.size(), std::to_string(process));
}

// Removes the files that `path`, with kProcess in its name, had in processes
// that do not run any more, which were killed before they could.
void RemoveStaleFiles(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  const size_t at = name.find(kProcess);
  if (at == std::string::npos) return;
  std::error_code ignored;
  std::filesystem::directory_iterator files(path.parent_path(), ignored);
  for (; files != std::filesystem::directory_iterator();
       files.increment(ignored)) {
    const std::string other = files->path().filename().string();
    if (other.size() + kProcess.size() <= name.size()) continue;
    const size_t digits = other.size() + kProcess.size() - name.size();
    pid_t process = 0;
    if (at > other.size() || !ParseNumber(other.substr(at, digits), &process) ||
        process <= 0 || ForProcess(name, process) != other) {
      continue;
    }
    if (kill(process, 0) != 0 && errno == ESRCH) unlink(files->path().c_str());
  }
}

// For files of several processes that one Prometheus reads: each sample gets
// the process number as its first label.
std::string WithProcessLabel(const std::string& text) {
  const std::string label = "{process=\"" + std::to_string(getpid()) + "\",";
  std::string labelled;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin) + 1;
    if (text[begin] == '#') {
      labelled.append(text, begin, end - begin);
    } else {
      const size_t brace = text.find('{', begin);  // every sample has labels
      labelled.append(text, begin, brace - begin);
      labelled += label;
      labelled.append(text, brace + 1, end - brace - 1);
    }
    begin = end;
  }
  return labelled;
}

class StatisticsFile {
 public:
  StatisticsFile(std::string path, bool json, uint32_t seconds)
      : path_(std::move(path)),
        json_(json),
        is_of_process_(!json && path_.find(kProcess) != std::string::npos),
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
    if (!CountsInThisProcess(TheProcess())) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (ended_) return;
    try {
      const std::unique_ptr<char, decltype(&std::free)> text(
          deltabloom_rocksdb_statistics(json_ ? "json" : "prometheus", nullptr),
          std::free);
      if (text == nullptr) return;
      const std::string path = ForProcess(path_, getpid());
      const std::string whole = path + "." + std::to_string(getpid()) + ".tmp";
      std::string lines = text.get();
      if (json_) lines += '\n';
      if (is_of_process_) lines = WithProcessLabel(lines);
      const bool written = WriteWhole(whole, lines);
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

  // Called at the end of the program. If the file stayed, Prometheus would take
  // it for one of a process that still runs.
  void WriteLast() {
    if (!is_of_process_) return Write();
    if (!CountsInThisProcess(TheProcess())) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
    WithoutThrowing([&] { unlink(ForProcess(path_, getpid()).c_str()); });
  }

 private:
  const std::string path_;
  const bool json_;
  const bool is_of_process_;  // Prometheus' text, with kProcess in its name
  const uint32_t seconds_;
  std::atomic<int64_t> due_;  // seconds of the steady clock
  std::mutex mutex_;
  bool ended_ = false;   // the file was removed
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
    if (!json) RemoveStaleFiles(std::filesystem::absolute(path));
    std::atexit([] { statistics_file->WriteLast(); });
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
  TheProcess().error_reporter = Print;
  StartStatisticsFile();
  return true;
}();

}  // namespace
}  // namespace deltabloom::internal
