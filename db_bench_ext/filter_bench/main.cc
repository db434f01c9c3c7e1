// filter_bench: the cost and the false positives of filters, side by side.
#include <benchmark/benchmark.h>
#include <leveldb/db.h>

#include <cctype>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "db_bench_ext/common/program.h"
#include "db_bench_ext/common/results.h"
#include "db_bench_ext/filter_bench/initialize.h"
#include "db_bench_ext/filter_bench/modes.h"
#include "rocksdb/version.h"
#include "util/cpu.h"

namespace deltabloom::bench {
namespace {

// The reason why a run has no result; null if it has one. The first overload is
// for Google Benchmark before 1.8.
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

// The value of the first line `name ... SEPARATOR value` of a file.
std::string Field(const char* file, const std::string& name, char separator) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    const size_t at = line.find(separator);
    if (line.rfind(name, 0) != 0 || at == line.npos) continue;
    const size_t start = line.find_first_not_of(" \t\"", at + 1);
    if (start == line.npos) continue;
    return line.substr(start, line.find('"', start) - start);
  }
  return "unknown";
}

// Google Benchmark adds the date, the caches and the load.
void DescribeMachine(const Options& options, const std::string& command) {
#if defined(__clang__)
  const std::string compiler = __VERSION__;
#else
  const std::string compiler = std::string("gcc ") + __VERSION__;
#endif
  for (const auto& [name, value] :
       std::vector<std::pair<const char*, std::string>>{
           {"cpu", Field("/proc/cpuinfo", "model name", ':')},
           {"cpu_level", internal::CpuName(internal::ActiveCpu())},
           {"cpu_level_detected", internal::CpuName(internal::DetectedCpu())},
           {"system", Field("/etc/os-release", "PRETTY_NAME", '=')},
           {"compiler", compiler},
           {"deltabloom", DELTABLOOM_VERSION},
           {"rocksdb", rocksdb::GetRocksVersionAsString()},
           {"leveldb", std::to_string(leveldb::kMajorVersion) + "." +
                           std::to_string(leveldb::kMinorVersion)},
           {"command", command},
           {"baseline", options.competitors.front()},
           {"seed", std::to_string(options.seed)}}) {
    benchmark::AddCustomContext(name, value);
  }
}

// Our defaults and then the user's options for Google Benchmark. From 1.8 on it
// warns of seconds without a unit, which older versions do not accept.
std::vector<std::string> BenchmarkOptions(const Options& options) {
  std::vector<std::string> words = {
      "--benchmark_repetitions=" + std::to_string(options.repetitions),
      "--benchmark_min_time=" + std::to_string(options.min_seconds)};
  words.insert(words.end(), options.benchmark_options.begin(),
               options.benchmark_options.end());
  for (std::string& word : words) {
    if (DELTABLOOM_BENCHMARK_WANTS_UNITS &&
        word.rfind("--benchmark_min_time=", 0) == 0 &&
        std::isdigit(static_cast<unsigned char>(word.back())) != 0) {
      word += 's';
    }
  }
  return words;
}

int Main(const std::vector<std::string>& arguments) {
  Options options;
  if (!ParseOptions(arguments, &options)) return 0;
  if (!InitializeBenchmark("filter_bench", BenchmarkOptions(options))) return 2;
  std::string command = "script/bench";
  for (const std::string& argument : arguments) command += " " + argument;
  DescribeMachine(options, command);
  Collector collector;
  MeasureFilters(options, &collector);
  ShowProgress("");
  if (options.only_list) return 0;
  const std::string json = collector.Json();
  if (!options.files.StdoutTaken()) {
    RunPython("filter_bench/report.py", {}, json);
  }
  options.files.Write(Json::parse(json));
  return 0;
}

}  // namespace

void Collector::ReportRuns(const std::vector<Run>& runs) {
  runs_.insert(runs_.end(), runs.begin(), runs.end());
}

void Collector::Add(const std::string& name,
                    const std::map<std::string, double>& figures) {
  Run run;
  run.run_name.function_name = name;
  run.family_index = static_cast<int64_t>(runs_.size());
  run.per_family_instance_index = 0;
  run.repetition_index = 0;
  run.repetitions = 1;
  for (const auto& [figure, value] : figures) run.counters[figure] = value;
  runs_.push_back(run);
}

void Collector::RunRegistered(const Options& options) {
  const size_t first = runs_.size();
  if (options.only_list || !options.rates_only) {
    benchmark::RunSpecifiedBenchmarks(this);
  }
  benchmark::ClearRegisteredBenchmarks();
  for (size_t i = first; i < runs_.size(); ++i) {
    const std::string* const problem = ProblemOf(runs_[i], 0);
    if (problem != nullptr) throw std::runtime_error(*problem);
  }
}

std::string Collector::Json() const {
  std::ostringstream text;
  benchmark::JSONReporter reporter;
  reporter.SetOutputStream(&text);
  reporter.SetErrorStream(&std::cerr);
  reporter.ReportContext(Context());
  if (!runs_.empty()) reporter.ReportRuns(runs_);
  reporter.Finalize();
  return text.str();
}

}  // namespace deltabloom::bench

int main(int argc, char** argv) {
  return deltabloom::bench::RunProgram("filter_bench", [argc, argv] {
    return deltabloom::bench::Main({argv + 1, argv + argc});
  });
}
