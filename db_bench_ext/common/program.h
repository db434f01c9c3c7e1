// Helpers for the main functions of the measuring programs: errors, the command
// line, values of options, progress, and calls of Python.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
class Validator;
}  // namespace CLI

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

// Checks of option values, to be used with CLI::Option::transform. A count is a
// whole number in [least, most]; the suffixes k and M multiply by 1,000 and
// 1,000,000.
CLI::Validator Count(uint64_t least, uint64_t most);
// NaN is in no range.
CLI::Validator Number(double least, double most);

// Declares a list of values separated by commas: one argument of the option.
CLI::Option* AsList(CLI::Option* option);

// Replaces the line of progress on standard error; empty text removes it. Does
// nothing if that is no terminal, or if standard output is a pipe, whose reader
// may write to the same terminal. Not thread-safe.
void ShowProgress(const std::string& text);

// A line on standard error that stays, wherever that goes: for work that takes
// minutes without output.
void PrintStep(const std::string& text);

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
