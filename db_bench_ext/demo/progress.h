// One progress bar on stderr, drawn over itself; nothing at all unless both
// stdout and stderr are terminals. Thread-safe.
#ifndef DELTABLOOM_DB_BENCH_EXT_DEMO_PROGRESS_H_
#define DELTABLOOM_DB_BENCH_EXT_DEMO_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace deltabloom::demo {

class Progress {
 public:
  // `total` steps until the bar is full.
  explicit Progress(double total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void SetActivity(const std::string& activity);
  void Advance(double steps);

  // Erases the bar, so that other output can follow.
  void Clear();

 private:
  void Draw();

  const bool enabled_;
  const double total_;
  std::mutex mutex_;
  double done_ = 0;
  std::string activity_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_draw_{};
};

}  // namespace deltabloom::demo

#endif  // DELTABLOOM_DB_BENCH_EXT_DEMO_PROGRESS_H_
