// Starts Google Benchmark, for all programs that use it.
#pragma once

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

namespace deltabloom::bench {

// Repetitions run in random order, so that a disturbance of the machine affects
// all of them; later options override earlier ones. Returns false, after a line
// on standard error, if an option is unknown.
inline bool InitializeBenchmark(const char* program,
                                const std::vector<std::string>& options) {
  // Google Benchmark keeps a pointer to the first.
  static std::vector<std::string> words;
  words = {program, "--benchmark_enable_random_interleaving=true"};
  words.insert(words.end(), options.begin(), options.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int count = static_cast<int>(words.size());
  benchmark::Initialize(&count, arguments.data());
  return !benchmark::ReportUnrecognizedArguments(count, arguments.data());
}

}  // namespace deltabloom::bench
