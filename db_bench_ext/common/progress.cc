#include "db_bench_ext/common/progress.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace deltabloom::bench {
namespace {

bool Shown() {
  static const bool shown = [] {
    struct stat out = {};
    const bool piped = fstat(STDOUT_FILENO, &out) == 0 &&
                       (S_ISFIFO(out.st_mode) || S_ISSOCK(out.st_mode));
    return isatty(STDERR_FILENO) == 1 && !piped;
  }();
  return shown;
}

}  // namespace

void ShowProgress(const std::string& text) {
  if (!Shown()) return;
  std::fprintf(stderr, "\r\033[K%s", text.c_str());
  std::fflush(stderr);
}

void ProgressBar::SetActivity(const std::string& activity) {
  const std::lock_guard<std::mutex> lock(mutex_);
  activity_ = activity;
  Draw();
}

void ProgressBar::Advance(double steps) {
  const std::lock_guard<std::mutex> lock(mutex_);
  done_ += steps;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_draw_ >= std::chrono::milliseconds(100)) Draw();
}

void ProgressBar::Clear() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ShowProgress("");
}

void ProgressBar::Draw() {
  constexpr size_t kWidth = 30;
  const double share = std::clamp(done_ / total_, 0.0, 1.0);
  std::string bar(static_cast<size_t>(share * kWidth), '#');
  bar.resize(kWidth, ' ');
  char percent[16];
  std::snprintf(percent, sizeof(percent), "%3.0f", share * 100);
  ShowProgress("[" + bar + "] " + percent + " %  " + activity_);
  last_draw_ = std::chrono::steady_clock::now();
}

}  // namespace deltabloom::bench
