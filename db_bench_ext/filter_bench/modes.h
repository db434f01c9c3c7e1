// What filter_bench can measure, and how figures are collected.
#ifndef DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_MODES_H_
#define DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_MODES_H_

#include <benchmark/benchmark.h>

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "db_bench_ext/filter_bench/filters.h"
#include "db_bench_ext/filter_bench/options.h"

namespace deltabloom::bench {

// The counter of a timed run.
inline constexpr char kNsPerKey[] = "ns_per_key";

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

// Registers a benchmark in one thread whose iterations return the nanoseconds
// per key for `keys` keys. Their median is its result, so one long interruption
// does not count. At most `most_repetitions` repetitions if that is not 0.
void RegisterMeasurement(const std::string& name, uint64_t keys,
                         std::function<double()> measure,
                         int most_repetitions = 0);

// Sets the counter kNsPerKey to the median of the iterations.
void SetNsPerKey(std::vector<double> iterations, benchmark::State* state);

// Registers lookups, in as many threads as the options say; what is passed must
// outlive them.
void RegisterLookups(const std::string& name, const LookupKind& kind,
                     const std::vector<BuiltFilter>& filters,
                     const KeyMaker& maker, const Options& options,
                     bool all_hits_match);

// The rate, its error and the samples, as counters.
std::map<std::string, double> FiguresOf(const Rate& rate);

inline double NanosecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::nano>(
             std::chrono::steady_clock::now() - start)
      .count();
}

// All competitors in all settings. Within a setting Google Benchmark runs the
// repetitions of all timings in random order, so that a disturbance of the
// machine affects all of them. Throws std::runtime_error if a competitor cannot
// run, loses a key, or needs more memory than there is.
void MeasureFilters(const Options& options, Collector* collector);

// The filters of one table arranged per data block, in partitions and as a
// whole, with the public interface for engines of one's own.
void MeasureArrangements(const Options& options, Collector* collector);

// Range filters and Bloom filters of prefixes: false positives and times
// over the length of ranges.
void MeasureRanges(const Options& options, Collector* collector);

}  // namespace deltabloom::bench

#endif  // DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_MODES_H_
