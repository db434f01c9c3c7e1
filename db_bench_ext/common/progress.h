// What is going on, on the terminal while it lasts; nothing elsewhere.
#ifndef DELTABLOOM_DB_BENCH_EXT_COMMON_PROGRESS_H_
#define DELTABLOOM_DB_BENCH_EXT_COMMON_PROGRESS_H_

#include <chrono>
#include <mutex>
#include <string>

namespace deltabloom::bench {

// Replaces the line of progress on standard error; empty text removes it. Shown
// on a terminal only, and not while standard output is a pipe, whose reader may
// write to the same terminal at any time. Not thread-safe.
void ShowProgress(const std::string& text);

// A bar in that line, and what is being done. Thread-safe.
class ProgressBar {
 public:
  // `total` steps until the bar is full.
  explicit ProgressBar(double total) : total_(total) {}
  ~ProgressBar() { Clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void SetActivity(const std::string& activity);
  void Advance(double steps);

  // Erases the bar, so that other output can follow.
  void Clear();

 private:
  void Draw();

  const double total_;
  std::mutex mutex_;
  double done_ = 0;
  std::string activity_;
  std::chrono::steady_clock::time_point last_draw_{};
};

}  // namespace deltabloom::bench

#endif  // DELTABLOOM_DB_BENCH_EXT_COMMON_PROGRESS_H_
