#include "tools/deltabloom/shared_input.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace deltabloom::tools {
namespace {

constexpr size_t kMaxKey = size_t{1} << 20;
constexpr size_t kPiece = size_t{256} << 10;

}  // namespace

std::runtime_error SystemError(const std::string& path) {
  return std::runtime_error(path + ": " + std::strerror(errno));
}

Interrupt::Interrupt() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    // One that is ignored (nohup, a job in the background) stays so.
    struct sigaction action = {};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler != SIG_IGN) sigaddset(&signals, signal);
  }
  pthread_sigmask(SIG_BLOCK, &signals, &before_);
  descriptor_ = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
  if (descriptor_ < 0) {
    const int error = errno;
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    throw std::system_error(error, std::generic_category(), "signalfd");
  }
}

Interrupt::~Interrupt() {
  close(descriptor_);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool Interrupt::Came() {
  signalfd_siginfo info;
  if (signal_ == 0 && read(descriptor_, &info, sizeof(info)) == sizeof(info)) {
    signal_ = static_cast<int>(info.ssi_signo);
  }
  return signal_ != 0;
}

void Interrupt::Check() {
  if (Came()) throw Interrupted();
}

void Interrupt::EndProcess() {
  if (signal_ == 0) return;
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  raise(signal_);
}

KeyReader::KeyReader(const std::string& path, char separator,
                     Interrupt* interrupt)
    : name_(path == "-" ? "standard input" : path),
      separator_(separator),
      interrupt_(interrupt) {
  descriptor_ = path == "-" ? dup(STDIN_FILENO)
                            : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) throw SystemError(name_);
  struct stat status = {};
  if (fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode)) {
    size_ = static_cast<uint64_t>(status.st_size);
  }
}

KeyReader::KeyReader(const std::vector<std::string>& keys)
    : name_("--key"), at_end_(true), given_(keys) {
  for (const std::string& key : given_) {
    if (key.size() > kMaxKey) {
      throw std::runtime_error("--key: a key of more than 1 MiB");
    }
  }
}

KeyReader::~KeyReader() {
  if (descriptor_ >= 0) close(descriptor_);
}

const std::vector<std::string_view>& KeyReader::Next() {
  batch_.clear();
  if (descriptor_ < 0) {
    for (size_t i = keys_; i < given_.size() && batch_.size() < kMaxBatch;
         ++i) {
      batch_.push_back(given_[i]);
    }
  } else {
    buffer_.erase(0, used_);
    used_ = seen_ = 0;
    do {
      interrupt_->Check();
      Split();
      // Whoever types keys, or waits for an answer in a pipe, has it now.
    } while (batch_.empty() && Read());
  }
  keys_ += batch_.size();
  return batch_;
}

bool KeyReader::HasMoreWithin(std::chrono::milliseconds time) {
  return at_end_ || buffer_.find(separator_, used_) != std::string::npos ||
         Wait(static_cast<int>(time.count()));
}

// Waits until the input can be read; -1: for any time.
bool KeyReader::Wait(int milliseconds) {
  pollfd waited[] = {{descriptor_, POLLIN, 0},
                     {interrupt_->descriptor(), POLLIN, 0}};
  int ready = -1;
  while ((ready = poll(waited, 2, milliseconds)) < 0) {
    if (errno != EINTR) throw SystemError(name_);
  }
  interrupt_->Check();
  return ready > 0;
}

// False at the end of the input.
bool KeyReader::Read() {
  if (at_end_) return false;
  Wait(-1);
  const size_t before = buffer_.size();
  buffer_.resize(before + kPiece);
  const ssize_t got = read(descriptor_, buffer_.data() + before, kPiece);
  if (got < 0 && errno != EINTR && errno != EAGAIN) throw SystemError(name_);
  buffer_.resize(before + static_cast<size_t>(got < 0 ? 0 : got));
  bytes_ += static_cast<size_t>(got < 0 ? 0 : got);
  if (got == 0) at_end_ = true;
  return true;
}

void KeyReader::Split() {
  while (batch_.size() < kMaxBatch) {
    size_t end = buffer_.find(separator_, seen_);
    const bool last = end == std::string::npos;
    if (last) end = buffer_.size();
    if (end - used_ > kMaxKey) {
      throw std::runtime_error(
          name_ + ": key " + std::to_string(keys_ + batch_.size() + 1) +
          " has more than 1 MiB: are keys separated otherwise (--null)?");
    }
    if (last) {
      seen_ = end;
      if (!at_end_ || end == used_) return;
    }
    batch_.emplace_back(buffer_.data() + used_, end - used_);
    used_ = seen_ = last ? end : end + 1;
  }
}

}  // namespace deltabloom::tools
