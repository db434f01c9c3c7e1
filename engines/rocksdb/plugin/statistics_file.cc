#include "engines/rocksdb/plugin/statistics_file.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "deltabloom/rocksdb_statistics.h"
#include "engines/rocksdb/base/errors.h"
#include "engines/rocksdb/base/process.h"
#include "util/json.h"
#include "util/mutex.h"

namespace deltabloom::internal {
namespace {

constexpr char kFileVariable[] = "DELTABLOOM_STATISTICS";
constexpr char kSecondsVariable[] = "DELTABLOOM_STATISTICS_SECONDS";
constexpr uint32_t kDefaultSeconds = 15;
constexpr std::chrono::seconds kLongestWaitAtExit(1);

void Complain(const std::string& line) {
  std::fprintf(stderr, "deltabloom: %s\n", line.c_str());
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

// The settings in the environment.
struct FileSettings {
  std::string path;  // absolute: the program may change its working directory
  bool json;
  bool is_of_process;  // Prometheus' text, with kProcess in its name
  uint32_t seconds;    // 0: at the end of the program only
};

// Held while the statistics are collected, and by fork(): a child must not
// inherit locks that are held by a thread that it does not have. Not held while
// the file is written.
Mutex collecting;

// The thread of one process, and its file. Never destroyed, because the thread
// may run as long as the process.
class StatisticsWriter {
 public:
  explicit StatisticsWriter(FileSettings settings)
      : settings_(std::move(settings)),
        path_(ForProcess(settings_.path, process_)) {}

  // Called once.
  void Start() noexcept {
    // The program's signals are for its own threads.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      std::thread([this] { Run(); }).detach();
    } catch (const std::exception& failure) {
      const MutexLock lock(mutex_);
      ended_ = true;
      Complain(std::string(kFileVariable) +
               ": no thread to write the file: " + failure.what());
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  // Called at the end of the program: waits until the last file is written.
  void Finish() {
    const MutexLock lock(mutex_);
    ending_ = true;
    changed_.notify_all();
    const auto has_ended = [this]()
                               DELTABLOOM_WITH_LOCK(mutex_) { return ended_; };
    if (!changed_.wait_for(mutex_, kLongestWaitAtExit, has_ended)) {
      Complain("the last statistics are not in " + path_ +
               ": it could not be written within a second (" + kFileVariable +
               ")");
    }
  }

 private:
  void Run() noexcept {
    pthread_setname_np(pthread_self(), "deltabloom");
    if (!settings_.json) {
      WithoutThrowing([&] { RemoveStaleFiles(settings_.path); });
    }
    while (!WaitForEnd()) WithoutThrowing([&] { Write(); });
    // If the file of a process stayed, Prometheus would take it for one that
    // still runs.
    if (settings_.is_of_process) {
      unlink(path_.c_str());
    } else {
      WithoutThrowing([&] { Write(); });
    }
    const MutexLock lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }

  // Returns whether the program ends, or false after the interval.
  bool WaitForEnd() {
    const auto is_ending = [this]()
                               DELTABLOOM_WITH_LOCK(mutex_) { return ending_; };
    const MutexLock lock(mutex_);
    if (settings_.seconds == 0) {
      changed_.wait(mutex_, is_ending);
      return true;
    }
    return changed_.wait_for(mutex_, std::chrono::seconds(settings_.seconds),
                             is_ending);
  }

  // Returns an empty text if memory has run out: the file stays as it was.
  std::string Text() const {
    const MutexLock lock(collecting);
    std::string text;
    WithoutThrowing([&] {
      const auto statistics = GetRocksDBFilterStatistics();
      if (settings_.json) {
        text = statistics.ToJson() + "\n";
      } else if (settings_.is_of_process) {
        text = WithProcessLabel(statistics.ToPrometheus());
      } else {
        text = statistics.ToPrometheus();
      }
    });
    return text;
  }

  // Replaces the file as a whole, so that readers never see a part of it.
  void Write() {
    const std::string text = Text();
    if (text.empty()) return;
    const std::string whole = path_ + "." + std::to_string(process_) + ".tmp";
    const bool written = WriteWhole(whole, text);
    if (written && std::rename(whole.c_str(), path_.c_str()) == 0) {
      failed_ = false;
      return;
    }
    const int error = errno;
    unlink(whole.c_str());
    if (std::exchange(failed_, true)) return;
    Complain(std::string(written ? "cannot replace" : "cannot write") +
             " the statistics to " + path_ + ": " + std::strerror(error) +
             " (" + kFileVariable + ")");
  }

  const FileSettings settings_;
  const pid_t process_ = getpid();
  const std::string path_;
  bool failed_ = false;  // and said so, since a write went well

  Mutex mutex_;  // never held while a file is written
  std::condition_variable_any changed_;
  bool ending_ DELTABLOOM_GUARDED_BY(mutex_) = false;
  bool ended_ DELTABLOOM_GUARDED_BY(mutex_) = false;
};

const FileSettings* settings = nullptr;
// The writer of this process; null after fork() in the child.
StatisticsWriter* writer DELTABLOOM_GUARDED_BY(collecting) = nullptr;

// Called with each policy that is made. Without memory the next one tries
// again.
void StartWriter() {
  WithoutThrowing([] {
    const MutexLock lock(collecting);
    if (writer != nullptr) return;
    writer = std::make_unique<StatisticsWriter>(*settings).release();
    writer->Start();
  });
}

void FinishWriter() {
  StatisticsWriter* mine = nullptr;
  {
    const MutexLock lock(collecting);
    mine = writer;
  }
  if (mine != nullptr) WithoutThrowing([&] { mine->Finish(); });
}

void LockForFork() DELTABLOOM_THREAD_SAFETY(acquire_capability(collecting)) {
  collecting.lock();
}

void UnlockAfterFork()
    DELTABLOOM_THREAD_SAFETY(release_capability(collecting)) {
  collecting.unlock();
}

// A forked child has no thread. The parent's writer is leaked there, because
// its mutex may be locked for good.
void ForgetWriter() DELTABLOOM_THREAD_SAFETY(release_capability(collecting)) {
  writer = nullptr;
  collecting.unlock();
}

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

}  // namespace

void StartStatisticsFile() noexcept {
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
    const std::string absolute = std::filesystem::absolute(path).string();
    const bool is_of_process =
        !json && absolute.find(kProcess) != std::string::npos;
    settings =
        new FileSettings{absolute, json, is_of_process, SecondsOfEnvironment()};
    pthread_atfork(LockForFork, UnlockAfterFork, ForgetWriter);
    TheProcess().policy_was_made = StartWriter;
    std::atexit(FinishWriter);
  } catch (const std::exception& failure) {
    Complain(std::string(kFileVariable) + ": " + failure.what());
  }
}

}  // namespace deltabloom::internal
