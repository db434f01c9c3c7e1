// The options of filter_bench, what it can measure, and how figures are
// collected.
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "db_bench_ext/common/results.h"
#include "db_bench_ext/filter_bench/filters.h"

namespace deltabloom::bench {

// Everything that is measured together, alternating between the competitors.
struct Setting {
  uint64_t keys = 0;
  size_t key_bytes = 0;
  double bits_per_key = 0;

  // FIGURE/COMPETITOR/keys:1000/key_bytes:16/bits_per_key:10
  std::string NameOf(const std::string& figure,
                     const std::string& competitor) const;
};

struct Options {
  std::vector<std::string> competitors;  // names, in the order of tables
  std::vector<uint64_t> keys = {1000, 100'000, 1'000'000, 10'000'000};
  std::vector<size_t> key_bytes = {16};
  std::vector<double> bits_per_key = {10};
  std::vector<int> threads = {1};
  KeyKind key_kind = KeyKind::kRandom;
  uint64_t many_filter_keys = 4'000'000;  // in all filters together
  uint64_t samples = 4'000'000;           // at most, for false positives
  int repetitions = 5;
  double min_seconds = 0.02;
  uint64_t seed = 1;
  bool rates_only = false;
  bool only_list = false;  // --benchmark_list_tests
  ResultFiles files;
  std::vector<std::string> benchmark_options;  // Google Benchmark's own

  // Returns all combinations.
  std::vector<Setting> Settings() const;
};

// Returns false after printing the help. Throws UsageError.
bool ParseOptions(std::vector<std::string> arguments, Options* options);

// Keeps all runs of Google Benchmark until the end, in its own form.
class Collector : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override;

  // Adds figures that are counted, not timed by Google Benchmark.
  void Add(const std::string& name,
           const std::map<std::string, double>& figures);

  // Runs the registered benchmarks, unless only rates are wanted, and removes
  // them. Throws std::runtime_error if one of them fails.
  void RunRegistered(const Options& options);

  // Everything in Google Benchmark's format.
  std::string Json() const;

 private:
  std::vector<Run> runs_;
};

// Measures all competitors in all settings. Within a setting Google Benchmark
// runs the repetitions of all timings in random order, so that a disturbance of
// the machine affects all of them. Throws std::runtime_error if a competitor
// cannot run, loses a key, or needs more memory than there is.
void MeasureFilters(const Options& options, Collector* collector);

}  // namespace deltabloom::bench
