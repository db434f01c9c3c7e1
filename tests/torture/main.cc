// The program of script/test --long torture. run.sh describes its options.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>

#include "db_bench_ext/common/files.h"
#include "db_bench_ext/common/program.h"
#include "db_bench_ext/common/results.h"
#include "tests/torture/torture.h"

namespace {

using namespace deltabloom::torture;
using deltabloom::bench::Print;

int Main(int argc, char** argv) {
  RunOptions run;
  run.cycles = 100;
  run.seed = std::random_device()();
  bool verbose = false;
  CLI::App app("Usage: script/test --long torture --help");
  app.add_option("--cycles", run.cycles)->check(CLI::Range(1, 1'000'000));
  app.add_option("--first", run.first);
  app.add_option("--seed", run.seed);
  app.add_option("--timeout", run.timeout_seconds);
  app.add_flag("--verbose", verbose);
  if (!deltabloom::bench::ParseCommandLine({argv + 1, argv + argc}, &app)) {
    return 0;
  }

  Journal* const journal = Journal::Create();
  // Not a ScratchDirectory, which the next run would remove.
  const auto path = std::filesystem::temp_directory_path() /
                    ("deltabloom-torture-" + std::to_string(getpid()));
  std::filesystem::create_directory(path);
  deltabloom::bench::Temporary folder(path);
  run.folder = folder.path();
  Print("Seed " + std::to_string(run.seed) + ", cycles " +
        std::to_string(run.first) + " to " +
        std::to_string(run.first + run.cycles - 1) + ", in " + run.folder +
        "\n");
  deltabloom::bench::ProgressBar progress(static_cast<double>(run.cycles));
  run.before_cycle = [&](uint64_t cycle, const std::string& plan) {
    progress.SetActivity("cycle " + std::to_string(cycle));
    progress.Advance(1);
    if (verbose) Print("cycle " + std::to_string(cycle) + ": " + plan + "\n");
  };
  const Failure failure = Run(run, journal);
  progress.Clear();
  Print("\n");
  journal->totals.ForEach([](const char* text, const auto* count) {
    const std::string number = deltabloom::bench::WithThousands(*count);
    Print(std::string(15 - number.size(), ' ') + number + "  " + text + "\n");
  });
  if (failure.what.empty()) return 0;
  folder.Keep();
  const uint64_t first = std::max(run.first, FirstOfDatabase(failure.cycle));
  Print("\nFAILED in cycle " + std::to_string(failure.cycle) + ": " +
        failure.what + "\n\nThe database is in " + run.folder +
        "/database. The same cycles again, at moments that may differ:\n" +
        "  script/test --long torture --seed " + std::to_string(run.seed) +
        " --first " + std::to_string(first) + " --cycles " +
        std::to_string(failure.cycle - first + 1) + " --verbose\n");
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  return deltabloom::bench::RunProgram("torture",
                                       [=] { return Main(argc, argv); });
}
