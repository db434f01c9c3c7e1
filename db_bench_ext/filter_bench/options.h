// The options of filter_bench.
#ifndef DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_OPTIONS_H_
#define DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "db_bench_ext/common/results.h"
#include "db_bench_ext/filter_bench/keys.h"

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
  bool no_floors = false;
  bool rates_only = false;
  bool arrangements = false;  // measure the filters of a table
  bool ranges = false;        // measure range filters
  bool only_list = false;     // --benchmark_list_tests
  ResultFiles files;
  std::vector<std::string> benchmark_options;  // Google Benchmark's own

  // All combinations.
  std::vector<Setting> Settings() const;
};

// Returns false after printing the help. Throws UsageError.
bool ParseOptions(std::vector<std::string> arguments, Options* options);

}  // namespace deltabloom::bench

#endif  // DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_OPTIONS_H_
