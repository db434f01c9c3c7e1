#include "db_bench_ext/filter_bench/interrupt.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "db_bench_ext/filter_bench/progress.h"

namespace deltabloom::bench {
namespace {

// Never destroyed: the waiting thread may need them to the very end.
std::mutex& Guard() {
  static auto* guard = new std::mutex;
  return *guard;
}

std::vector<std::string>& Directories() {
  static auto* directories = new std::vector<std::string>;
  return *directories;
}

sigset_t Interrupts() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

void RemoveAll(const std::string& directory) {
  // Other threads may still be adding files to it.
  std::error_code error;
  for (int attempt = 0; attempt < 3; ++attempt) {
    std::filesystem::remove_all(directory, error);
    if (!error) break;
  }
}

void Wait() {
  const sigset_t signals = Interrupts();
  int signal = 0;
  sigwait(&signals, &signal);
  const std::lock_guard<std::mutex> lock(Guard());
  for (const std::string& directory : Directories()) RemoveAll(directory);
  ShowProgress("");
  std::fputs("filter_bench: interrupted\n", stderr);
  _exit(130);
}

}  // namespace

void HandleInterrupts() {
  const sigset_t signals = Interrupts();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread(Wait).detach();
}

void ForgetInterrupts() {
  const sigset_t signals = Interrupts();
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

ScratchDirectory::ScratchDirectory() {
  path_ =
      (std::filesystem::temp_directory_path() / "filter_bench.XXXXXX").string();
  const std::lock_guard<std::mutex> lock(Guard());
  if (mkdtemp(path_.data()) == nullptr) {
    throw std::runtime_error("cannot make the directory " + path_ + ": " +
                             std::strerror(errno));
  }
  Directories().push_back(path_);
}

ScratchDirectory::~ScratchDirectory() {
  const std::lock_guard<std::mutex> lock(Guard());
  RemoveAll(path_);
  auto& directories = Directories();
  directories.erase(std::find(directories.begin(), directories.end(), path_));
}

}  // namespace deltabloom::bench
