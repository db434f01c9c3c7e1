#include "db_bench_ext/common/files.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include "db_bench_ext/common/program.h"
#include "db_bench_ext/common/results.h"

namespace deltabloom::bench {
namespace {

namespace fs = std::filesystem;

struct Entry {
  const Temporary* owner;
  std::string path;
  Temporary::Removal removal;
};

// Never destroyed: the waiting thread may use them until the process ends.
std::mutex& Guard() {
  static auto* guard = new std::mutex;
  return *guard;
}

std::vector<Entry>& Entries() {
  static auto* entries = new std::vector<Entry>;
  return *entries;
}

std::atomic<pid_t> child_to_end{0};

sigset_t Interrupts() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action = {};
    sigaction(number, nullptr, &action);
    // nohup: the program shall outlive the terminal.
    if (number == SIGHUP && action.sa_handler == SIG_IGN) continue;
    sigaddset(&signals, number);
  }
  return signals;
}

void Remove(const Entry& entry) {
  std::error_code ignored;
  if (entry.removal == Temporary::Removal::kIfEmpty) {
    fs::remove(entry.path, ignored);
  } else {
    fs::remove_all(entry.path, ignored);
  }
}

// Other threads still run: the new name keeps them from adding files.
void RemoveWhileInUse(Entry entry) {
  std::error_code error;
  if (entry.removal == Temporary::Removal::kWithContent &&
      fs::is_directory(fs::symlink_status(entry.path, error))) {
    const std::string aside = entry.path + ".unfinished";
    fs::rename(entry.path, aside, error);
    if (!error) entry.path = aside;
  }
  Remove(entry);
}

// Not through stdio, whose locks the program may hold.
void PrintInterrupted(const std::string& program) {
  const std::string erase = isatty(STDERR_FILENO) == 1 ? "\r\033[K" : "";
  const std::string text =
      erase + program + ": interrupted, nothing was kept\n";
  const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
  static_cast<void>(written);
}

// Gives it a second to clean up.
void EndChild() {
  const pid_t child = child_to_end;
  if (child <= 0) return;
  kill(child, SIGTERM);
  for (int i = 0; i < 100 && kill(child, 0) == 0; ++i) {
    waitpid(child, nullptr, WNOHANG);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

void Wait(const sigset_t& signals, const std::string& program) {
  int number = 0;
  sigwait(&signals, &number);
  // Never unlocked: destructors, and errors about the removed files, wait here
  // until the process ends.
  Guard().lock();
  EndChild();
  auto& entries = Entries();
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    RemoveWhileInUse(*entry);
  }
  PrintInterrupted(program);
  _exit(128 + number);
}

// Returns true if it made the folder.
bool UseFolder(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status)) {
    if (!fs::is_directory(status)) {
      throw UsageError("--db: " + path.string() + " is not a folder");
    }
    const bool empty = fs::is_empty(path, error);
    if (error) {
      throw UsageError("--db: cannot read " + path.string() + ": " +
                       error.message());
    }
    if (!empty) {
      throw UsageError("--db: " + path.string() +
                       " is not empty; name a new or empty folder");
    }
    return false;
  }
  fs::create_directories(path, error);
  if (error) {
    throw UsageError("--db: cannot make " + path.string() + ": " +
                     error.message());
  }
  return true;
}

}  // namespace

void HandleInterrupts(const std::string& program) {
  const sigset_t signals = Interrupts();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  std::thread(Wait, signals, program).detach();
}

void ForgetInterrupts() {
  std::signal(SIGPIPE, SIG_DFL);
  const sigset_t signals = Interrupts();
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

void SetChild(pid_t child) { child_to_end = child; }

Temporary::Temporary(std::string path, Removal removal)
    : path_(std::move(path)), removal_(removal) {
  const std::lock_guard<std::mutex> lock(Guard());
  Register();
}

void Temporary::Register() { Entries().push_back({this, path_, removal_}); }

Temporary::~Temporary() {
  const std::lock_guard<std::mutex> lock(Guard());
  auto& entries = Entries();
  const auto found =
      std::find_if(entries.begin(), entries.end(),
                   [this](const Entry& entry) { return entry.owner == this; });
  if (found == entries.end()) return;
  Remove(*found);
  entries.erase(found);
}

void Temporary::Keep() {
  const std::lock_guard<std::mutex> lock(Guard());
  auto& entries = Entries();
  entries.erase(std::remove_if(
                    entries.begin(), entries.end(),
                    [this](const Entry& entry) { return entry.owner == this; }),
                entries.end());
}

ScratchDirectory::ScratchDirectory(const std::string& name) {
  const char* parent = std::getenv("TMPDIR");
  if (parent == nullptr || *parent == '\0') parent = "/tmp";
  temporary_.path_ = std::string(parent) + "/" + name + ".XXXXXX";
  const std::lock_guard<std::mutex> lock(Guard());
  if (mkdtemp(temporary_.path_.data()) == nullptr) {
    throw std::runtime_error(std::string(parent) +
                             ": cannot make a folder for temporary files: " +
                             std::strerror(errno) + "; set TMPDIR");
  }
  temporary_.Register();
}

OutputFile::OutputFile(const std::string& option, const std::string& path)
    : option_(option) {
  if (path.empty()) throw UsageError(option + ": the name is empty");
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) {
    throw UsageError(option + ": " + path + " is a folder, name a file");
  }
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    path_ = writing_path_ = path;
    return;
  }
  // Through symbolic links, which a rename would replace.
  path_ = fs::weakly_canonical(path, error).string();
  if (error) path_ = path;
  writing_path_ = path_ + "." + std::to_string(getpid()) + ".unfinished";
  unfinished_ = std::make_unique<Temporary>(writing_path_);
  const int fd = open(writing_path_.c_str(),
                      O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0666);
  if (fd < 0) {
    throw UsageError(option + ": cannot write " + path + ": " +
                     std::strerror(errno));
  }
  close(fd);
}

void OutputFile::Write(const std::function<void(std::ostream*)>& write) {
  errno = 0;
  std::ofstream file(writing_path_);
  if (file) write(&file);
  file.close();
  if (!file) Fail();
}

void OutputFile::Publish() {
  if (unfinished_ == nullptr) return;
  if (std::rename(writing_path_.c_str(), path_.c_str()) != 0) Fail();
  unfinished_->Keep();
}

void OutputFile::Fail() const {
  throw std::runtime_error(option_ + ": cannot write " + path_ + ": " +
                           std::strerror(errno != 0 ? errno : EIO));
}

Workspace::Workspace(const std::string& dir, const std::string& name) {
  if (dir.empty()) {
    scratch_ = std::make_unique<ScratchDirectory>(name);
    path_ = scratch_->path();
    return;
  }
  path_ = dir;
  if (UseFolder(path_)) {
    added_.push_back(
        std::make_unique<Temporary>(dir, Temporary::Removal::kIfEmpty));
  }
}

Workspace::~Workspace() {
  while (!added_.empty()) added_.pop_back();
}

void Workspace::Keep() {
  for (const auto& added : added_) added->Keep();
}

bool Workspace::SupportsDirectIo() const {
  const fs::path probe = path_ / "direct-io-probe";
  const int fd = open(probe.c_str(), O_CREAT | O_RDWR | O_DIRECT, 0600);
  if (fd < 0) {
    unlink(probe.c_str());
    return false;
  }
  void* block = nullptr;
  bool works = false;
  constexpr size_t kBytes = 4096;
  if (posix_memalign(&block, kBytes, kBytes) == 0) {
    std::memset(block, 0, kBytes);
    works = pwrite(fd, block, kBytes, 0) == static_cast<ssize_t>(kBytes) &&
            pread(fd, block, kBytes, 0) == static_cast<ssize_t>(kBytes);
    std::free(block);
  }
  close(fd);
  unlink(probe.c_str());
  return works;
}

void Workspace::RequireFreeBytes(uint64_t bytes) const {
  std::error_code error;
  const fs::space_info space = fs::space(path_, error);
  if (error || space.available >= bytes) return;
  throw std::runtime_error(
      path_.string() + ": " + Megabytes(space.available) +
      " free, the databases need about " + Megabytes(bytes) +
      "; free some, lower --keys, or name another place with --db or TMPDIR");
}

fs::path Workspace::Add(const std::string& name) {
  const fs::path path = path_ / name;
  if (scratch_ == nullptr) {
    added_.push_back(std::make_unique<Temporary>(path.string()));
  }
  fs::create_directory(path);
  return path;
}

void Workspace::Remove(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) {
    throw std::runtime_error("cannot remove " + path.string() + ": " +
                             error.message());
  }
}

}  // namespace deltabloom::bench
