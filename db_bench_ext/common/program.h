// What the main functions of the measuring programs share: errors, the command
// line, values of options, progress, and calls of Python.
#ifndef DELTABLOOM_DB_BENCH_EXT_COMMON_PROGRAM_H_
#define DELTABLOOM_DB_BENCH_EXT_COMMON_PROGRAM_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace deltabloom::bench {

// Bad usage, exit code 2: one line that names the option, the value and the
// values that are allowed. Every other std::exception means exit code 1.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Runs `body`, whose result is the exit code. Handles interrupts, and turns an
// exception into one line on standard error and an exit code. REQUIRES: main
// has started no thread yet.
int RunProgram(const std::string& name, const std::function<int()>& body);

// Returns false after printing the help if --help is given. Throws UsageError.
bool ParseCommandLine(std::vector<std::string> arguments, CLI::App* app);

// Writes to standard output at once. Throws std::runtime_error.
void Print(const std::string& text);

// The non-empty parts between commas.
std::vector<std::string> SplitList(const std::string& list);

// "a, b, c"
std::string JoinList(const std::vector<std::string>& parts);

// A whole number in [least, most]. The suffixes k and M multiply by 1,000 and
// 1,000,000. Throws UsageError, as all functions of this kind do.
uint64_t ParseCount(const std::string& option, std::string text, uint64_t least,
                    uint64_t most);

// A number in [least, most].
double ParseNumber(const std::string& option, const std::string& text,
                   double least, double most);

// A list of values, each parsed by `parse`, without repetitions.
template <typename T, typename Parse>
std::vector<T> ParseList(const std::string& option, const std::string& list,
                         const Parse& parse) {
  std::vector<T> values;
  for (const std::string& text : SplitList(list)) {
    const T value = static_cast<T>(parse(text));
    if (std::find(values.begin(), values.end(), value) == values.end()) {
      values.push_back(value);
    }
  }
  if (values.empty()) throw UsageError(option + ": an empty list");
  return values;
}

// A list of counts without repetitions.
template <typename T>
void ParseCounts(const std::string& option, const std::string& list,
                 uint64_t least, uint64_t most, std::vector<T>* values) {
  *values = ParseList<T>(option, list, [&](const std::string& text) {
    return ParseCount(option, text, least, most);
  });
}

// Replaces the line of progress on standard error; empty text removes it. Only
// on a terminal, and not while standard output is a pipe, whose reader may
// write to the same terminal. Not thread-safe.
void ShowProgress(const std::string& text);

// A bar in the line of progress, and the current activity. Thread-safe.
class ProgressBar {
 public:
  // The bar is full after `total` steps.
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

// Throws std::runtime_error if matplotlib is not installed. `option` is the
// option that needs it.
void RequirePlotting(const std::string& option);

// Runs a script of db_bench_ext with `input` as its standard input. Throws
// std::runtime_error if it fails.
void RunPython(const std::string& script,
               const std::vector<std::string>& arguments,
               const std::string& input);

}  // namespace deltabloom::bench

#endif  // DELTABLOOM_DB_BENCH_EXT_COMMON_PROGRAM_H_
