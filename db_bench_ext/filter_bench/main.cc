// filter_bench: what filters cost and what they let through, side by side.
#include <unistd.h>

#include <cctype>
#include <filesystem>
#include <stdexcept>

#include "db_bench_ext/common/files.h"
#include "db_bench_ext/common/program.h"
#include "db_bench_ext/common/results.h"
#include "db_bench_ext/filter_bench/arrangements.h"
#include "db_bench_ext/filter_bench/collector.h"
#include "db_bench_ext/filter_bench/database.h"
#include "db_bench_ext/filter_bench/options.h"
#include "db_bench_ext/filter_bench/outputs.h"
#include "db_bench_ext/filter_bench/ranges.h"
#include "db_bench_ext/filter_bench/results.h"
#include "db_bench_ext/filter_bench/session.h"

namespace deltabloom::bench {
namespace {

// Hands the defaults of ours and then the user's options to Google Benchmark.
// False if it does not know one.
bool InitializeBenchmark(const Options& options, char* program) {
  // Google Benchmark keeps a pointer to the first.
  static std::vector<std::string> words;
  words = {
      program,
      "--benchmark_enable_random_interleaving=true",
      "--benchmark_repetitions=" + std::to_string(options.repetitions),
      "--benchmark_min_time=" + std::to_string(options.min_seconds),
  };
  words.insert(words.end(), options.benchmark_options.begin(),
               options.benchmark_options.end());
  // A number of seconds. From 1.8 on Google Benchmark warns of one without its
  // unit, which older ones do not take.
  if (DELTABLOOM_BENCHMARK_WANTS_UNITS) {
    for (std::string& word : words) {
      const bool seconds =
          word.rfind("--benchmark_min_time=", 0) == 0 &&
          std::isdigit(static_cast<unsigned char>(word.back())) != 0;
      if (seconds) word += 's';
    }
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int count = static_cast<int>(words.size());
  benchmark::Initialize(&count, arguments.data());
  return !benchmark::ReportUnrecognizedArguments(count, arguments.data());
}

void MeasureFilters(const Options& options, Collector* collector,
                    Results* results) {
  Session session(options, collector);
  session.CheckMemory();
  session.Run([&](const std::vector<Row>& rows) {
    if (!options.StdoutTaken()) Print(Tables(rows, options.baseline));
    results->rows.insert(results->rows.end(), rows.begin(), rows.end());
  });
}

int Measure(const Options& options, char* program) {
  if (!InitializeBenchmark(options, program)) return 2;
  Outputs outputs(options);
  Collector collector;
  Results results;
  std::string tables;
  if (options.database) {
    results.database = MeasureDatabases(options, &collector);
    tables = DatabaseTables(results.database);
  } else if (options.arrangements) {
    results.arrangements = MeasureArrangements(options, &collector);
    tables = ArrangementTables(results.arrangements);
  } else if (options.ranges) {
    results.ranges = MeasureRanges(options);
    tables = RangeTables(results.ranges);
  } else {
    MeasureFilters(options, &collector, &results);
  }
  if (!options.StdoutTaken()) Print(tables);
  outputs.Write(results, collector);
  for (const Row& row : results.rows) {
    if (row.false_negatives == 0) continue;
    throw std::runtime_error(
        row.competitor + " denied " + WithThousands(row.false_negatives) +
        " added keys of " + WithThousands(row.setting.keys));
  }
  return 0;
}

// The script runs this program part by part.
[[noreturn]] void WriteReport(const Options& options, int argc, char** argv) {
  constexpr char kSources[] = DELTABLOOM_SOURCE_DIR;
  const std::string target = options.report->empty()
                                 ? std::string(kSources) + "/docs"
                                 : *options.report;
  std::vector<std::string> words = {
      "--bench",  std::filesystem::canonical("/proc/self/exe").string(),
      "--source", kSources,
      "--to",     target};
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.compare(0, 9, "--report=") == 0) continue;
    if (word == "--report") {
      if (i + 1 < argc && *options.report == argv[i + 1]) ++i;
      continue;
    }
    words.push_back(word);
  }
  const std::string script =
      std::string(kSources) + "/db_bench_ext/filter_bench/report.py";
  words.insert(words.begin(), {"/usr/bin/python3", script});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ForgetInterrupts();
  execv("/usr/bin/python3", arguments.data());
  throw std::runtime_error("cannot run /usr/bin/python3");
}

}  // namespace
}  // namespace deltabloom::bench

int main(int argc, char** argv) {
  using deltabloom::bench::Options;
  return deltabloom::bench::RunProgram("filter_bench", [argc, argv] {
    const std::optional<Options> options =
        deltabloom::bench::ParseOptions(argc, argv);
    if (!options) return 0;
    if (options->report) deltabloom::bench::WriteReport(*options, argc, argv);
    return deltabloom::bench::Measure(*options, argv[0]);
  });
}
