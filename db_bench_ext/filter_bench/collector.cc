#include "db_bench_ext/filter_bench/collector.h"

#include <algorithm>
#include <stdexcept>

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

std::map<std::pair<std::string, int>, double> Collector::TakeMedians() {
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
  std::map<std::pair<std::string, int>, double> medians;
  for (auto& [name, values] : found) medians[name] = Median(std::move(values));
  return medians;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle]
                                : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace deltabloom::bench
