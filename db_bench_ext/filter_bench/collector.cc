#include "db_bench_ext/filter_bench/collector.h"

#include <algorithm>
#include <stdexcept>

#include "db_bench_ext/common/results.h"

namespace deltabloom::bench {
namespace {

// Why a run has no result; null if it has one. Google Benchmark 1.8 gave the
// fields new names, and a way to skip that is no error: the first overload is
// for versions before it, the second for it and later ones.
template <typename Run>
auto ProblemOf(const Run& run, int)
    -> decltype(run.error_occurred, static_cast<const std::string*>(nullptr)) {
  return run.error_occurred ? &run.error_message : nullptr;
}

template <typename Run>
auto ProblemOf(const Run& run, long)
    -> decltype(run.skipped, static_cast<const std::string*>(nullptr)) {
  return run.skipped ? &run.skip_message : nullptr;
}

}  // namespace

bool Collector::ReportContext(const Context& context) {
  name_width_ = std::max(name_width_, context.name_field_width);
  return true;
}

void Collector::ReportRuns(const std::vector<TimedRun>& runs) {
  runs_.insert(runs_.end(), runs.begin(), runs.end());
}

Medians Collector::TakeMedians() {
  std::map<std::pair<std::string, int>, std::vector<double>> found;
  for (; taken_ < runs_.size(); ++taken_) {
    const TimedRun& run = runs_[taken_];
    const std::string* const problem = ProblemOf(run, 0);
    if (problem != nullptr) throw std::runtime_error(*problem);
    const auto counter = run.counters.find(kNsPerKey);
    if (counter == run.counters.end()) continue;
    // With --benchmark_report_aggregates_only the median is all there is.
    const bool single = run.run_type == TimedRun::RT_Iteration;
    if (!single && run.aggregate_name != "median") continue;
    found[{run.run_name.function_name, static_cast<int>(run.threads)}]
        .push_back(counter->second.value);
  }
  Medians medians;
  for (auto& [name, values] : found) medians[name] = Median(std::move(values));
  return medians;
}

void RegisterMeasurement(const std::string& name, uint64_t keys,
                         std::function<double()> measure,
                         int most_repetitions) {
  auto* const benchmark = benchmark::RegisterBenchmark(
      name.c_str(),
      [keys, measure = std::move(measure)](benchmark::State& state) {
        std::vector<double> ns_per_key;
        for (auto unused : state) {
          static_cast<void>(unused);
          ns_per_key.push_back(measure());
          state.SetIterationTime(ns_per_key.back() * 1e-9 *
                                 static_cast<double>(keys));
        }
        state.counters[kNsPerKey] = Median(std::move(ns_per_key));
      });
  benchmark->UseManualTime()->Threads(1);
  if (most_repetitions > 0) benchmark->Repetitions(most_repetitions);
}

}  // namespace deltabloom::bench
