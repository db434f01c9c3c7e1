#include "shared_filters/command/key_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "shared_filters/command/interrupt.h"
#include "shared_filters/command/whole_file.h"

namespace deltabloom::tools {

KeyReader::KeyReader(const std::string& path, char separator,
                     Interrupt* interrupt)
    : name_(path == "-" ? "standard input" : path),
      separator_(separator),
      interrupt_(interrupt) {
  interrupt_->Release();
  descriptor_ = path == "-" ? dup(STDIN_FILENO)
                            : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  interrupt_->Hold();
  if (descriptor_ < 0) throw SystemError(name_);
}

KeyReader::KeyReader(const std::vector<std::string>& keys)
    : name_("--key"), separator_('\0'), interrupt_(nullptr), at_end_(true) {
  for (const std::string& key : keys) buffer_ += key + separator_;
}

KeyReader::~KeyReader() {
  if (descriptor_ >= 0) close(descriptor_);
}

const std::vector<std::string_view>& KeyReader::Next(
    std::chrono::milliseconds gather) {
  using Clock = std::chrono::steady_clock;
  constexpr int kPauseMs = 50;
  constexpr size_t kMaxKey = size_t{1} << 20;
  constexpr size_t kMaxBuffer = size_t{64} << 20;
  batch_.clear();
  buffer_.erase(0, used_);
  used_ = 0;
  while (!at_end_ && buffer_.size() <= kMaxKey &&
         buffer_.find(separator_) == std::string::npos) {
    Wait(-1);
    Read();
  }
  const Clock::time_point until = Clock::now() + gather;
  while (!at_end_ && buffer_.size() < kMaxBuffer && Clock::now() < until &&
         Wait(kPauseMs)) {
    Read();
  }
  while (used_ < buffer_.size()) {
    const size_t end =
        std::min(buffer_.find(separator_, used_), buffer_.size());
    if (end - used_ > kMaxKey) {
      throw std::runtime_error(
          name_ + ": key " + std::to_string(keys_ + batch_.size() + 1) +
          " has more than 1 MiB: are keys separated otherwise (--null)?");
    }
    const bool is_whole = end < buffer_.size();
    if (!is_whole && !at_end_) break;
    batch_.emplace_back(buffer_.data() + used_, end - used_);
    used_ = is_whole ? end + 1 : end;
  }
  keys_ += batch_.size();
  return batch_;
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

void KeyReader::Read() {
  constexpr size_t kPiece = size_t{256} << 10;
  const size_t before = buffer_.size();
  buffer_.resize(before + kPiece);
  const ssize_t got = read(descriptor_, buffer_.data() + before, kPiece);
  if (got < 0 && errno != EINTR && errno != EAGAIN) throw SystemError(name_);
  buffer_.resize(before + static_cast<size_t>(std::max<ssize_t>(got, 0)));
  at_end_ = got == 0;
}

}  // namespace deltabloom::tools
