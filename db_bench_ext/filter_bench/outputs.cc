#include "db_bench_ext/filter_bench/outputs.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <stdexcept>

#include "db_bench_ext/common/program.h"

namespace deltabloom::bench {
namespace {

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

// The file of a target that is not standard output.
std::optional<OutputFile> Claim(const char* option,
                                const std::optional<std::string>& target) {
  std::optional<OutputFile> file;
  if (target && *target != "-") file.emplace(option, *target);
  return file;
}

// To the file, or to standard output if that is the target.
void WriteTo(const std::optional<std::string>& target,
             std::optional<OutputFile>* file,
             const std::function<void(std::ostream*)>& write) {
  if (*file) {
    (*file)->Write(write);
    (*file)->Publish();
  } else if (target) {
    std::ostringstream text;
    write(&text);
    Print(text.str());
  }
}

}  // namespace

Outputs::Outputs(const Options& options)
    : options_(options),
      json_(Claim("--json", options.json)),
      csv_(Claim("--csv", options.csv)) {
  if (!options_.benchmark_out.empty()) {
    benchmark_out_.emplace("--benchmark_out", options_.benchmark_out);
  }
  if (options_.plot) ClaimPlots();
}

void Outputs::ClaimPlots() {
  const std::string& folder = *options_.plot;
  std::error_code error;
  if (std::filesystem::create_directories(folder, error)) {
    plots_ = std::make_unique<Temporary>(folder, Temporary::Removal::kIfEmpty);
  }
  if (!error && access(folder.c_str(), W_OK) != 0) {
    error = std::error_code(errno, std::generic_category());
  }
  if (error) {
    throw UsageError("--plot: cannot write to the folder " + folder + ": " +
                     error.message());
  }
  RequirePlotting("--plot");
}

void Outputs::Write(const Results& results, const Collector& collector) {
  const auto json = [&](std::ostream* out) {
    WriteJson(results, options_, out);
  };
  WriteTo(options_.json, &json_, json);
  WriteTo(options_.csv, &csv_,
          [&](std::ostream* out) { WriteCsv(results.rows, out); });
  if (!options_.benchmark_format.empty()) {
    Replay(collector, options_.benchmark_format, &std::cout);
  }
  WriteTo(std::nullopt, &benchmark_out_, [&](std::ostream* out) {
    Replay(collector, options_.benchmark_out_format, out);
  });
  if (options_.plot) {
    std::ostringstream text;
    json(&text);
    RunPython("filter_bench/plots.py", {*options_.plot}, text.str());
    if (plots_) plots_->Keep();
  }
}

}  // namespace deltabloom::bench
