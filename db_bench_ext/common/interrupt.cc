#include "db_bench_ext/common/interrupt.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace deltabloom::bench {
namespace {

namespace fs = std::filesystem;

struct Entry {
  const Temporary* owner;
  std::string path;
  Temporary::Removal removal;
};

// Never destroyed: the waiting thread may need them to the very end.
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
    // nohup asks to outlive the terminal.
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

// Other threads go on: under another name they find no folder to add to.
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
void Say(const std::string& program) {
  const std::string erase = isatty(STDERR_FILENO) == 1 ? "\r\033[K" : "";
  const std::string text =
      erase + program + ": interrupted, nothing was kept\n";
  const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
  static_cast<void>(written);
}

// It may clean up, too, for a second.
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
  // Never given back: the destructors of the program wait here for its end, and
  // so do the errors that it makes of the removed files.
  Guard().lock();
  EndChild();
  auto& entries = Entries();
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    RemoveWhileInUse(*entry);
  }
  Say(program);
  _exit(128 + number);
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

ScratchDirectory::ScratchDirectory(const std::string& name)
    : temporary_(Temporary::Unnamed()) {
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

}  // namespace deltabloom::bench
