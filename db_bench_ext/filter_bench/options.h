// What the command line asks for.
#ifndef DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_OPTIONS_H_
#define DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "db_bench_ext/filter_bench/keys.h"

namespace deltabloom::bench {

struct Options {
  std::vector<std::string> competitors;  // names, in the order of tables
  std::string baseline;                  // whose times ratios refer to
  std::vector<uint64_t> keys = {1000, 100'000, 1'000'000, 10'000'000};
  std::vector<uint64_t> key_bytes = {16};
  std::vector<double> bits_per_key = {10};
  std::vector<int> threads = {1};
  KeyKind key_kind = KeyKind::kRandom;
  int batch = 32;
  uint64_t many_filter_keys = 4'000'000;  // in all filters together
  uint64_t samples = 4'000'000;           // at most, for false positives
  int repetitions = 5;
  double min_seconds = 0.02;
  uint64_t seed = 1;
  bool floors = true;
  bool quick = false;
  bool rates_only = false;
  bool database = false;      // measure databases, not bare filters
  bool arrangements = false;  // measure the filters of a table
  bool ranges = false;        // measure range filters

  // Where results go: a file, "-" for standard output, or nowhere.
  std::optional<std::string> json;
  std::optional<std::string> csv;
  std::optional<std::string> plot;    // a directory
  std::optional<std::string> report;  // a directory

  std::string command_line;
  // Google Benchmark's own options; three of them are handled here.
  std::vector<std::string> benchmark_options;
  std::string benchmark_format;
  std::string benchmark_out;
  std::string benchmark_out_format = "json";

  // Standard output carries results for a machine, so nothing else.
  bool StdoutTaken() const {
    return json == "-" || csv == "-" || !benchmark_format.empty();
  }
};

// Null if help was asked for, which has been printed. Throws UsageError.
std::optional<Options> ParseOptions(int argc, char** argv);

}  // namespace deltabloom::bench

#endif  // DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_OPTIONS_H_
