// Runs filter_bench as a user would.
#ifndef DELTABLOOM_TESTS_BENCH_PROGRAM_H_
#define DELTABLOOM_TESTS_BENCH_PROGRAM_H_

#include <string>
#include <vector>

namespace deltabloom::test {

struct Finished {
  int exit_code = 0;  // 128 + number when a signal ended it
  std::string out;
  std::string err;
};

// With options that make a run short; those that `more` sets, too, are left to
// it.
std::vector<std::string> Tiny(std::vector<std::string> more);

Finished RunBench(const std::vector<std::string>& arguments);

// Sends SIGINT as soon as something appears on standard output.
Finished RunBenchUntilOutputThenInterrupt(
    const std::vector<std::string>& arguments);

// A name in the directory for temporary files, of which no file exists.
std::string ScratchFile(const std::string& name);

std::string ReadFile(const std::string& path);

}  // namespace deltabloom::test

#endif  // DELTABLOOM_TESTS_BENCH_PROGRAM_H_
