// filter_bench: what filters cost and what they let through, side by side.
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <iostream>
#include <memory>

#include "db_bench_ext/filter_bench/collector.h"
#include "db_bench_ext/filter_bench/database.h"
#include "db_bench_ext/filter_bench/interrupt.h"
#include "db_bench_ext/filter_bench/options.h"
#include "db_bench_ext/filter_bench/parse.h"
#include "db_bench_ext/filter_bench/progress.h"
#include "db_bench_ext/filter_bench/python.h"
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

std::unique_ptr<benchmark::BenchmarkReporter> NewReporter(
    const std::string& format) {
  if (format == "json") return std::make_unique<benchmark::JSONReporter>();
  if (format == "csv") {
// Deprecated there, but offered as long as it exists.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    return std::make_unique<benchmark::CSVReporter>();
#pragma GCC diagnostic pop
  }
  return std::make_unique<benchmark::ConsoleReporter>(
      benchmark::ConsoleReporter::OO_Tabular);
}

// All runs at once in one of Google Benchmark's formats.
void Replay(const Collector& collector, const std::string& format,
            std::ostream* out) {
  const auto reporter = NewReporter(format);
  reporter->SetOutputStream(out);
  reporter->SetErrorStream(&std::cerr);
  benchmark::BenchmarkReporter::Context context;
  context.name_field_width = collector.name_width();
  if (!reporter->ReportContext(context)) return;
  if (!collector.runs().empty()) reporter->ReportRuns(collector.runs());
  reporter->Finalize();
}

bool WriteResults(const Options& options, const Results& results,
                  const Collector& collector) {
  bool written = true;
  if (options.json) {
    written &= WriteTo(*options.json, [&](std::ostream* out) {
      WriteJson(results, options, out);
    });
  }
  if (options.csv) {
    written &= WriteTo(*options.csv,
                       [&](std::ostream* out) { WriteCsv(results.rows, out); });
  }
  if (!options.benchmark_format.empty()) {
    Replay(collector, options.benchmark_format, &std::cout);
  }
  if (!options.benchmark_out.empty()) {
    written &= WriteTo(options.benchmark_out, [&](std::ostream* out) {
      Replay(collector, options.benchmark_out_format, out);
    });
  }
  if (options.plot) written &= DrawPlots(results, options);
  return written;
}

void MeasureFilters(const Options& options, Collector* collector,
                    Results* results) {
  Session session(options, collector);
  const std::string error = session.CheckMemory();
  if (!error.empty()) throw std::runtime_error(error);
  session.Run([&](const std::vector<Row>& rows) {
    if (!options.StdoutTaken()) {
      PrintTables(rows, options.baseline, &std::cout);
    }
    results->rows.insert(results->rows.end(), rows.begin(), rows.end());
  });
}

int Measure(const Options& options, char* program) {
  if (!InitializeBenchmark(options, program)) return 2;
  Collector collector;
  Results results;
  if (options.database) {
    results.database = MeasureDatabases(options, &collector);
    if (!options.StdoutTaken()) {
      PrintDatabaseTables(results.database, &std::cout);
    }
  } else {
    MeasureFilters(options, &collector, &results);
  }
  if (!WriteResults(options, results, collector)) return 1;
  for (const Row& row : results.rows) {
    if (row.false_negatives == 0) continue;
    std::fprintf(stderr, "filter_bench: %s denied %s added keys of %s\n",
                 row.competitor.c_str(),
                 WithThousands(row.false_negatives).c_str(),
                 WithThousands(row.setting.keys).c_str());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace deltabloom::bench

int main(int argc, char** argv) {
  using deltabloom::bench::Options;
  int exit_code = 0;
  const std::optional<Options> options =
      deltabloom::bench::ParseOptions(argc, argv, &exit_code);
  if (!options) return exit_code;
  deltabloom::bench::HandleInterrupts();
  try {
    if (options->report) {
      return deltabloom::bench::WriteReport(*options, argc, argv);
    }
    return deltabloom::bench::Measure(*options, argv[0]);
  } catch (const std::exception& error) {
    deltabloom::bench::ShowProgress("");
    std::fprintf(stderr, "filter_bench: %s\n", error.what());
    return 1;
  }
}
