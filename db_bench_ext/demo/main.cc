// Builds RocksDB databases that differ in their filters only, looks the same
// keys up in each, and reports the data blocks that each filter saves.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "db_bench_ext/common/files.h"
#include "db_bench_ext/common/program.h"
#include "db_bench_ext/common/results.h"
#include "db_bench_ext/demo/contenders.h"
#include "db_bench_ext/demo/database.h"
#include "db_bench_ext/demo/growth.h"
#include "db_bench_ext/demo/loading.h"
#include "db_bench_ext/demo/options.h"
#include "db_bench_ext/demo/phases.h"
#include "db_bench_ext/demo/range_filters.h"
#include "db_bench_ext/demo/scans.h"
#include "db_bench_ext/demo/schemas.h"
#include "db_bench_ext/demo/tree.h"

namespace deltabloom::demo {
namespace {

using bench::Json;

// Returns whether files in a folder can be opened without the page cache.
bool SupportsDirectIo(const std::string& folder) {
  const std::string probe = folder + "/direct-io-probe";
  const int fd = open(probe.c_str(), O_CREAT | O_RDWR | O_DIRECT, 0600);
  unlink(probe.c_str());
  if (fd >= 0) close(fd);
  return fd >= 0;
}

class Program {
 public:
  explicit Program(const Options& options)
      : options_(options),
        database_options_(options.database),
        scratch_(options.db.empty() ? std::make_unique<bench::ScratchDirectory>(
                                          "deltabloom-demo")
                                    : nullptr),
        folder_(options.db.empty() ? scratch_->path() : options.db),
        progress_(Steps(options)) {
    database_options_.direct_io &= SupportsDirectIo(folder_);
  }

  Json Run() {
    Print(FormatSetting(options_, folder_, database_options_.direct_io));
    Json results = Json::array();
    for (const TreePlan& plan : options_.trees) {
      Json rows =
          IsLoading(*options_.preset) ? RunLoading(plan) : RunTree(plan);
      for (Json& row : rows) results.push_back(std::move(row));
    }
    for (const GrownTree* tree : options_.grown) {
      for (Json& row : RunGrown(*tree)) results.push_back(std::move(row));
    }
    if (IsPhases(*options_.preset)) results = RunAllPhases();
    for (const Schema* schema : options_.schemas) {
      for (Json& row : RunSchema(*schema)) results.push_back(std::move(row));
    }
    return results;
  }

  // Keeps the databases in a folder of the user's.
  void Keep() {
    for (const auto& path : kept_) path->Keep();
  }

 private:
  // Loading and measuring: a step each for every key of every database.
  static double Steps(const Options& options) {
    const size_t filters = options.filters.size();
    if (IsLevels(*options.preset)) {
      uint64_t keys = 0;
      for (const GrownTree* tree : options.grown) keys += tree->Writes();
      return static_cast<double>(filters * keys);
    }
    if (IsPhases(*options.preset)) {
      return static_cast<double>(filters * (options.keys + options.lookups));
    }
    const size_t of_tree =
        IsLoading(*options.preset) ? kLoadingDatabases : filters;
    const size_t databases =
        options.trees.size() * of_tree +
        options.schemas.size() * options.range_filters.size();
    return 2 * static_cast<double>(databases * options.keys);
  }

  void Print(const std::string& text) {
    progress_.Clear();
    if (!options_.files.StdoutTaken()) bench::Print(text);
  }

  Json RunTree(const TreePlan& plan) {
    const KeySet keys(plan.keys, options_.seed);
    Json results = Json::array();
    Databases databases;
    for (const std::string& name : options_.filters) {
      databases.push_back(NewDatabase(
          plan.name, name, [&keys](uint64_t i) { return keys.Key(i); }));
      databases.back()->Build(plan, &progress_);
      const bool is_last = name == options_.filters.back();
      if (options_.preset->takes_turns && !is_last) continue;
      if (results.empty()) {
        Print("\nTree " + plan.name +
              ", the same in every database; sorted runs, newest first:\n\n" +
              FormatRuns(databases.front()->tree()) + "\n" +
              FormatResult(*options_.preset, nullptr));
      }
      progress_.SetActivity("measuring lookups");
      for (Json& row : MeasureAll(databases, plan, keys)) {
        Print(FormatResult(*options_.preset, row));
        results.push_back(std::move(row));
      }
      databases.clear();
      // Room for those that follow.
      if (options_.db.empty()) kept_.clear();
    }
    Print(FormatSummary(*options_.preset, results));
    return results;
  }

  Json RunLoading(const TreePlan& plan) {
    Json results = Json::array();
    for (const LoadingResult& result : MeasureLoading(
             plan, KeySet(plan.keys, options_.seed), database_options_,
             options_.bits_per_key, options_.lookups,
             [&](const std::string& name) { return FolderOf(plan.name, name); },
             &progress_)) {
      results.push_back(ResultOfLoading(plan, result));
    }
    Print("\nTree with " + plan.name +
          " filters; read from files per Get of an absent key:\n\n" +
          FormatLoading(results));
    if (options_.db.empty()) kept_.clear();
    return results;
  }

  std::unique_ptr<Database> NewDatabase(const std::string& tree,
                                        const std::string& filter,
                                        Database::KeyOf key_of) {
    progress_.SetActivity("loading: " + tree + ", " + filter);
    return std::make_unique<Database>(
        filter, MakePolicy(filter, options_.bits_per_key),
        FolderOf(tree, filter), database_options_, std::move(key_of));
  }

  Json RunGrown(const GrownTree& tree) {
    const KeySet keys = KeysOf(tree, options_.seed);
    Json results = Json::array();
    for (const std::string& filter : options_.filters) {
      const auto database =
          NewDatabase(tree.name, filter, KeysInOrder(tree, keys));
      Grow(tree, database.get(), &progress_);
      const Batch absent =
          LookupKeys(keys, *database).Draw(Lookup::kAbsent, options_.lookups);
      Counts counts;
      LookUp(*database, absent, &counts);
      results.push_back(
          ResultOfGrowth(tree, *database, counts, options_.steps, absent.keys));
    }
    Print(FormatGrowth(tree, results));
    if (options_.db.empty()) kept_.clear();
    return results;
  }

  Json RunAllPhases() {
    const KeySet keys(options_.keys, options_.seed);
    Json results = Json::array();
    for (const std::string& filter : options_.filters) {
      const auto database =
          NewDatabase(options_.preset->name, filter, KeysThenAgain(keys));
      for (Json& row : ResultsOfPhases(
               *database,
               RunPhases(keys, options_.lookups, database.get(), &progress_))) {
        results.push_back(std::move(row));
      }
    }
    CompareWithUniform(&results);
    Print(FormatPhases(results));
    return results;
  }

  // The folder of a database.
  std::string FolderOf(const std::string& tree, const std::string& filter) {
    kept_.push_back(std::make_unique<bench::Temporary>(folder_ + "/" + tree +
                                                       "-" + filter));
    return kept_.back()->path();
  }

  Json RunSchema(const Schema& schema) {
    const SchemaKeys keys =
        options_.file_keys.path.empty()
            ? SchemaKeys(schema, options_.keys, options_.seed)
            : SchemaKeys(schema, options_.file_keys, options_.seed);
    const std::string tree = schema.name;
    ScannedDatabases databases;
    for (const std::string& name : options_.range_filters) {
      auto filter = NewRangeFilter(name, schema, options_.bits_per_key);
      if (filter == nullptr) continue;
      progress_.SetActivity("loading: " + tree + ", " + name);
      databases.push_back(std::make_unique<ScannedDatabase>(
          name, std::move(filter), FolderOf(tree, name), database_options_,
          keys));
      databases.back()->Build(options_.state, &progress_);
    }
    progress_.SetActivity("scanning: " + tree);
    MeasureScans(databases, keys, options_.lookups,
                 static_cast<double>(options_.keys * databases.size()),
                 &progress_);
    progress_.SetActivity("building tables: " + tree);
    MeasureBuilding(databases);
    Json results = Json::array();
    for (const auto& database : databases) {
      results.push_back(ResultOfScans(schema, *database));
    }
    Print("\nSchema " + tree + ", scans of " + schema.scans +
          "; tables: " + results.front()["tables"].dump() + ", sorted runs: " +
          results.front()["runs"].dump() + "\n\n" + FormatScans(results));
    databases.clear();
    if (options_.db.empty()) kept_.clear();
    return results;
  }

  Json MeasureAll(const Databases& databases, const TreePlan& plan,
                  const KeySet& keys) {
    const MeasurePlan measure = {
        options_.preset->turn, options_.lookups, options_.max_seconds,
        static_cast<double>(plan.keys * databases.size()) /
            static_cast<double>(options_.lookups)};
    LookupKeys lookup_keys(keys, *databases.front());
    const std::vector<std::vector<Counts>> counts =
        Measure(databases, &lookup_keys, measure, &progress_);
    const Batch sample =
        LookupKeys(keys, *databases.front()).Draw(Lookup::kAbsent, 100'000);
    Json results = Json::array();
    for (size_t i = 0; i < databases.size(); ++i) {
      results.push_back(
          ResultOf(*databases[i], plan, measure.turn, counts[i], sample.keys));
    }
    return results;
  }

  const Options& options_;
  DatabaseOptions database_options_;
  const std::unique_ptr<bench::ScratchDirectory> scratch_;
  const std::string folder_;
  std::vector<std::unique_ptr<bench::Temporary>> kept_;  // the databases
  bench::ProgressBar progress_;
};

int Main(Options* options) {
  Program program(*options);
  const Json runs = program.Run();
  options->files.Write({{"preset", options->preset->name},
                        {"rocksdb", rocksdb::GetRocksVersionAsString()},
                        {"bits_per_key", options->bits_per_key},
                        {"seed", options->seed},
                        {"runs", runs}});
  program.Keep();
  return std::any_of(runs.begin(), runs.end(), [](const Json& row) {
    return row.value("missed_present_keys", 0) > 0 ||
           row.value("wrong_scans", 0) > 0 ||
           row.value("more_than_uniform", false);
  });
}

}  // namespace
}  // namespace deltabloom::demo

int main(int argc, char** argv) {
  return deltabloom::bench::RunProgram("demo", [argc, argv] {
    deltabloom::demo::Options options;
    if (!deltabloom::demo::ParseOptions(argc, argv, &options)) return 0;
    return deltabloom::demo::Main(&options);
  });
}
