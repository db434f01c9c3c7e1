#include "db_bench_ext/demo/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace deltabloom::demo {

Progress::Progress(double total)
    : enabled_(isatty(STDOUT_FILENO) != 0 && isatty(STDERR_FILENO) != 0),
      total_(total) {}

Progress::~Progress() { Clear(); }

void Progress::SetActivity(const std::string& activity) {
  if (!enabled_) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  activity_ = activity;
  Draw();
}

void Progress::Advance(double steps) {
  if (!enabled_) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  done_ += steps;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_draw_ >= std::chrono::milliseconds(100)) Draw();
}

void Progress::Clear() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (drawn_) std::fputs("\r\033[K", stderr);
  drawn_ = false;
}

void Progress::Draw() {
  constexpr int kWidth = 30;
  const double share = std::clamp(done_ / total_, 0.0, 1.0);
  const std::string full(static_cast<size_t>(share * kWidth), '#');
  std::fprintf(stderr, "\r[%-*s] %3.0f %%  %s\033[K", kWidth, full.c_str(),
               share * 100, activity_.c_str());
  std::fflush(stderr);
  drawn_ = true;
  last_draw_ = std::chrono::steady_clock::now();
}

}  // namespace deltabloom::demo
