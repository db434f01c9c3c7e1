// Kills a RocksDB with Deltabloom's filters, over and over, and looks for every
// write that it acknowledged.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "db_bench_ext/common/files.h"
#include "db_bench_ext/common/program.h"
#include "db_bench_ext/torture/options.h"
#include "db_bench_ext/torture/run.h"

namespace deltabloom::torture {

namespace {

namespace fs = std::filesystem;
using bench::Print;
using bench::Temporary;

// Where the databases are: kept if it is the user's, or after a failure.
std::unique_ptr<Temporary> MakeFolder(const std::string& keep) {
  std::string path = keep;
  if (path.empty()) {
    path = (fs::temp_directory_path() / "deltabloom-torture-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) {
      throw std::runtime_error(path + ": cannot be made");
    }
    return std::make_unique<Temporary>(path);
  }
  std::error_code error;
  fs::create_directories(path, error);
  if (error || !fs::is_directory(path) || !fs::is_empty(path)) {
    throw bench::UsageError("--keep: " + path +
                            " is not a folder that is new or empty");
  }
  auto folder = std::make_unique<Temporary>(fs::canonical(path));
  folder->Keep();
  return folder;
}

void AddCounts(const std::string& path, Totals* totals) {
  std::ifstream file(path);
  if (!file) return;
  std::stringstream text;
  text << file.rdbuf();
  try {
    totals->AddJson(text.str());
  } catch (const std::exception& error) {
    throw bench::UsageError("--json: " + path + ": " + error.what());
  }
}

void WriteCounts(const std::string& path, const Totals& totals) {
  if (path.empty()) return;
  bench::OutputFile file("--json", path);
  file.Write([&](std::ostream* out) { *out << totals.FormatJson(); });
  file.Publish();
}

std::string Repeat(const Options& options, uint64_t cycle) {
  const uint64_t first = std::max(options.first, FirstOfDatabase(cycle));
  return "script/torture --seed " + std::to_string(options.seed) + " --first " +
         std::to_string(first) + " --cycles " +
         std::to_string(cycle - first + 1) + " --verbose";
}

int Main(int argc, char** argv) {
  Options options;
  if (!ParseOptions(argc, argv, &options)) return 0;
  Journal* const journal = Journal::Create();
  if (!options.json.empty()) {
    AddCounts(options.json, &journal->totals);
    WriteCounts(options.json, journal->totals);
  }
  const std::unique_ptr<Temporary> folder = MakeFolder(options.keep);
  RunOptions run;
  run.seed = options.seed;
  run.first = options.first;
  run.cycles = options.cycles;
  run.timeout_seconds = options.timeout_seconds;
  run.folder = folder->path();
  Print("Seed " + std::to_string(options.seed) + ", cycles " +
        std::to_string(run.first) + " to " +
        std::to_string(run.first + run.cycles - 1) + ", in " + run.folder +
        "\n");
  bench::ProgressBar progress(static_cast<double>(run.cycles));
  uint64_t cycle = run.first;
  run.before_cycle = [&](const std::string& plan) {
    progress.SetActivity("cycle " + std::to_string(cycle));
    if (options.verbose) {
      Print("cycle " + std::to_string(cycle) + ": " + plan + "\n");
    }
  };
  run.after_cycle = [&] {
    ++cycle;
    progress.Advance(1);
    WriteCounts(options.json, journal->totals);
  };
  const Failure failure = Run(run, journal);
  progress.Clear();
  WriteCounts(options.json, journal->totals);
  Print("\n" + journal->totals.Format());
  if (failure.what.empty()) return 0;
  folder->Keep();
  Print("\nFAILED in cycle " + std::to_string(failure.cycle) + ": " +
        failure.what + "\n\nThe database is in " + run.folder +
        "/database. The same cycles again, at moments that may differ:\n  " +
        Repeat(options, failure.cycle) + "\n");
  return 1;
}

}  // namespace

}  // namespace deltabloom::torture

int main(int argc, char** argv) {
  return deltabloom::bench::RunProgram(
      "script/torture", [=] { return deltabloom::torture::Main(argc, argv); });
}
