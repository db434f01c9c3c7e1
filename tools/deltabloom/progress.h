// How far a long run is: one line, drawn over itself.
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_PROGRESS_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

namespace deltabloom::tools {

class Progress {
 public:
  // Draws nothing if `out` is null, which stands for no terminal. Lines have at
  // most `columns` bytes and come at most once per `interval`, the first one
  // after it.
  Progress(std::ostream* out, size_t columns,
           std::chrono::milliseconds interval);
  ~Progress() { Clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // The total of what has no end in sight.
  static constexpr uint64_t kUnknown = UINT64_MAX;

  // "[####      ] 3 of 8 files: name", where 3 are done and `name` is next; of
  // an unknown total "3 files: name".
  void Show(uint64_t done, uint64_t total, std::string_view unit,
            std::string_view name);

  // Erases the line, so that other output can follow.
  void Clear();

 private:
  std::ostream* const out_;
  const size_t columns_;
  const std::chrono::milliseconds interval_;
  std::chrono::steady_clock::time_point last_;
  bool drawn_ = false;
};

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_PROGRESS_H_
