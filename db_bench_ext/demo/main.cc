// The main job in one run: the same keys in a RocksDB database per filter, the
// same lookups in each, and what every filter saves.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "db_bench_ext/common/files.h"
#include "db_bench_ext/common/program.h"
#include "db_bench_ext/demo/competitors.h"
#include "db_bench_ext/demo/database.h"
#include "db_bench_ext/demo/keys.h"
#include "db_bench_ext/demo/measure.h"
#include "db_bench_ext/demo/options.h"
#include "db_bench_ext/demo/report.h"

namespace deltabloom::demo {

using bench::OutputFile;
using bench::Print;
using bench::Workspace;

namespace {

using Clock = std::chrono::steady_clock;
using Databases = std::vector<std::unique_ptr<Database>>;

// Two minutes should do for building, which takes 65 seconds, and for this.
// Where loading takes long, fewer keys are looked up.
constexpr double kAimCheckSeconds = 38;
constexpr double kMinCheckSeconds = 5;
constexpr double kAimSeconds = 52;
constexpr double kMinMeasureSeconds = 12;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Not timed, so as many databases at a time as there are processors.
std::vector<KeyCheck> CheckKeysInAll(const Databases& databases, uint64_t keys,
                                     double max_seconds,
                                     bench::ProgressBar* progress) {
  // Databases that one thread checks one after the other share its time.
  const size_t processors = std::max(1u, std::thread::hardware_concurrency());
  const size_t rounds = (databases.size() + processors - 1) / processors;
  const double max_each = max_seconds / static_cast<double>(rounds);
  std::vector<KeyCheck> checks(databases.size());
  std::vector<std::exception_ptr> errors(databases.size());
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < databases.size(); i = next++) {
      try {
        checks[i] = CheckKeys(*databases[i], keys, max_each, progress);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < std::min(processors, databases.size()); ++i) {
    threads.emplace_back(work);
  }
  work();
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  return checks;
}

std::vector<Result> CollectResults(
    uint64_t keys, const Databases& databases,
    const std::vector<KeyCheck>& checks,
    const std::vector<Measurement>& measurements) {
  std::vector<Result> results;
  for (size_t i = 0; i < databases.size(); ++i) {
    Result result;
    result.filter = databases[i]->name();
    result.keys = keys;
    result.tables = databases[i]->Totals();
    result.load_seconds = databases[i]->load_seconds();
    result.measurement = measurements[i];
    result.measurement.checked_keys = checks[i].looked_up;
    result.measurement.missed_present_keys += checks[i].missed;
    results.push_back(result);
    databases[i]->Close();
  }
  return results;
}

std::vector<Result> Run(const Options& options,
                        const std::vector<Competitor>& competitors,
                        const KeySet& keys, Workspace* workspace,
                        Clock::time_point start) {
  workspace->RequireFreeBytes(EstimateDiskBytes(keys, competitors.size()));
  const bool direct_io = workspace->SupportsDirectIo();
  Print(FormatSetting(keys.size(), options.bits_per_key,
                      workspace->path().string(), direct_io));

  const uint64_t lookups =
      options.lookups != 0 ? options.lookups : kDefaultLookups;
  const double all_keys = static_cast<double>(keys.size() * competitors.size());
  bench::ProgressBar progress(3 * all_keys);  // loading, every key, measuring

  const std::vector<RunPlan> plan = PlanRuns(keys.size());
  Databases databases;
  for (const Competitor& competitor : competitors) {
    progress.SetActivity("loading: " + competitor.name);
    databases.push_back(std::make_unique<Database>(
        competitor, workspace->Add(competitor.name), direct_io));
    databases.back()->Load(keys, plan, &progress);
  }
  for (const auto& database : databases) database->OpenForMeasuring();
  RequireSameTree(databases);
  progress.Clear();
  Print(
      "Sorted runs, newest first, the same in every database; MB without a "
      "filter:\n\n" +
      FormatRuns(databases.front()->Runs()) + "\n");

  progress.SetActivity("looking up every key");
  const std::vector<KeyCheck> checks = CheckKeysInAll(
      databases, keys.size(),
      std::max(kMinCheckSeconds, kAimCheckSeconds - SecondsSince(start)),
      &progress);

  progress.SetActivity("measuring lookups");
  MeasurePlan measure_plan;
  measure_plan.lookups = lookups;
  measure_plan.max_seconds =
      options.lookups != 0
          ? std::numeric_limits<double>::infinity()
          : std::max(kMinMeasureSeconds, kAimSeconds - SecondsSince(start));
  measure_plan.steps_per_lookup = all_keys / static_cast<double>(lookups);
  LookupKeys lookup_keys(keys, databases.front()->SmallestKey(),
                         databases.front()->LargestKey(), options.seed);
  const std::vector<Measurement> measurements =
      Measure(databases, &lookup_keys, measure_plan, &progress);
  progress.Clear();

  return CollectResults(keys.size(), databases, checks, measurements);
}

int Main(const Options& options) {
  const Clock::time_point start = Clock::now();
  const std::vector<Competitor> competitors =
      MakeCompetitors(options.bits_per_key, options.layouts);
  Workspace workspace(options.db, "deltabloom-demo");
  std::optional<OutputFile> json, plot;
  if (!options.json.empty()) json.emplace("--json", options.json);
  if (!options.plot.empty()) {
    plot.emplace("--plot", options.plot);
    bench::RequirePlotting("--plot");
  }
  const KeySet keys(KeySet::ReadWords(kWordFile), options.keys, options.seed);
  const std::vector<Result> results =
      Run(options, competitors, keys, &workspace, start);
  Print(FormatTable(results) + "\n" + FormatSummary(results));

  const std::string text = FormatJson(results);
  if (json) {
    json->Write([&](std::ostream* out) { *out << text; });
    json->Publish();
  }
  if (plot) {
    bench::RunPython("demo/plot.py", {plot->writing_path()}, text);
    plot->Publish();
  }
  workspace.Keep();
  return ExitCode(results);
}

}  // namespace

}  // namespace deltabloom::demo

int main(int argc, char** argv) {
  return deltabloom::bench::RunProgram("demo", [argc, argv] {
    deltabloom::demo::Options options;
    if (!deltabloom::demo::ParseOptions(argc, argv, &options)) return 0;
    return deltabloom::demo::Main(options);
  });
}
