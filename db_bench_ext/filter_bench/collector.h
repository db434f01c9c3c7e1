// What Google Benchmark reports, kept; and the figure that all benchmarks here
// report, its median over the repetitions.
#ifndef DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_COLLECTOR_H_
#define DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_COLLECTOR_H_

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace deltabloom::bench {

using TimedRun = benchmark::BenchmarkReporter::Run;

// The counter that is the result of a benchmark.
inline constexpr char kNsPerKey[] = "ns_per_key";

// By name of the benchmark and number of threads.
using Medians = std::map<std::pair<std::string, int>, double>;

class Collector : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<TimedRun>& runs) override;

  const std::vector<TimedRun>& runs() const { return runs_; }
  size_t name_width() const { return name_width_; }

  // Of the runs since the last call. Throws std::runtime_error if one of them
  // failed.
  Medians TakeMedians();

 private:
  std::vector<TimedRun> runs_;
  size_t taken_ = 0;
  size_t name_width_ = 0;
};

// A benchmark in one thread whose iterations return the nanoseconds per key of
// `keys` keys each. Their median is its result: what interrupts one of them for
// long does not count. At most so many repetitions if that is not 0.
void RegisterMeasurement(const std::string& name, uint64_t keys,
                         std::function<double()> measure,
                         int most_repetitions = 0);

}  // namespace deltabloom::bench

#endif  // DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_COLLECTOR_H_
