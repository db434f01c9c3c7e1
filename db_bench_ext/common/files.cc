#include "db_bench_ext/common/files.h"

#include <signal.h>
#include <stdlib.h>
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
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "db_bench_ext/common/program.h"

namespace deltabloom::bench {
namespace {

namespace fs = std::filesystem;

// Paths of all Temporary. Never destroyed: the waiting thread may use it until
// the process ends.
struct Registry {
  std::mutex mutex;
  std::vector<std::string> paths;
};

Registry& Temporaries() {
  static auto* registry = new Registry;
  return *registry;
}

// Returns false if it is not there.
bool TakeOut(const std::string& path) {
  std::vector<std::string>& paths = Temporaries().paths;
  const auto found = std::find(paths.begin(), paths.end(), path);
  if (found == paths.end()) return false;
  paths.erase(found);
  return true;
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

// The new name keeps other threads from adding files.
void RemoveWhileInUse(const std::string& path) {
  std::error_code error;
  const std::string unfinished = path + ".unfinished";
  const bool is_folder = fs::is_directory(fs::symlink_status(path, error));
  if (is_folder) fs::rename(path, unfinished, error);
  fs::remove_all(is_folder && !error ? unfinished : path, error);
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
  // The mutex is never unlocked: destructors, and errors about the removed
  // files, wait here until the process ends.
  Registry& temporaries = Temporaries();
  temporaries.mutex.lock();
  EndChild();
  for (const std::string& path : temporaries.paths) RemoveWhileInUse(path);
  // The text does not go through stdio, whose locks the program may hold.
  const std::string text = (isatty(STDERR_FILENO) == 1 ? "\r\033[K" : "") +
                           program + ": interrupted, nothing was kept\n";
  const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
  static_cast<void>(written);
  _exit(128 + number);
}

// Removes the folders NAME.PROCESS.* of processes that were killed.
void RemoveLeftovers(const std::string& parent, const std::string& name) {
  std::error_code error;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(parent, error)) {
    const std::string file = entry.path().filename().string();
    if (file.compare(0, name.size() + 1, name + ".") != 0) continue;
    const pid_t process = std::atoi(file.c_str() + name.size() + 1);
    if (process <= 0 || kill(process, 0) == 0 || errno != ESRCH) continue;
    if (fs::remove_all(entry.path(), error) > 0 && !error) {
      std::fprintf(stderr, "Removed %s, which a killed run had left.\n",
                   entry.path().c_str());
    }
  }
}

std::string MakeScratch(const std::string& name) {
  const char* parent = std::getenv("TMPDIR");
  if (parent == nullptr || *parent == '\0') parent = "/tmp";
  RemoveLeftovers(parent, name);
  std::string path = std::string(parent) + "/" + name + "." +
                     std::to_string(getpid()) + ".XXXXXX";
  if (mkdtemp(path.data()) == nullptr) {
    throw std::runtime_error(std::string(parent) +
                             ": cannot make a folder for temporary files: " +
                             std::strerror(errno) + "; set TMPDIR");
  }
  return path;
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

Temporary::Temporary(std::string path) : path_(std::move(path)) {
  const std::lock_guard<std::mutex> lock(Temporaries().mutex);
  Temporaries().paths.push_back(path_);
}

Temporary::~Temporary() {
  const std::lock_guard<std::mutex> lock(Temporaries().mutex);
  std::error_code ignored;
  if (TakeOut(path_)) fs::remove_all(path_, ignored);
}

void Temporary::Keep() {
  const std::lock_guard<std::mutex> lock(Temporaries().mutex);
  TakeOut(path_);
}

ScratchDirectory::ScratchDirectory(const std::string& name)
    : Temporary(MakeScratch(name)) {}

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
  errno = 0;
  if (!std::ofstream(writing_path_)) {
    throw UsageError(option + ": cannot write " + path + ": " +
                     std::strerror(errno));
  }
}

void OutputFile::Write(const std::string& content) {
  errno = 0;
  std::ofstream file(writing_path_);
  file << content;
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

}  // namespace deltabloom::bench
