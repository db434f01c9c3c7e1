// Builds RocksDB databases that differ in their filters only, looks the same
// keys up in each, and reports the data blocks that each filter saves.
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "db_bench_ext/common/files.h"
#include "db_bench_ext/common/program.h"
#include "db_bench_ext/db/options.h"

namespace deltabloom::db_reads {
namespace {

using bench::Json;

class Program {
 public:
  Program(const Options& options, bench::Workspace* workspace)
      : options_(options),
        database_options_(options.preset->database),
        workspace_(workspace),
        // Loading and measuring.
        progress_(2 * static_cast<double>(options.trees.size() *
                                          options.trees.front().keys *
                                          options.contenders.size())) {
    database_options_.direct_io &= workspace->SupportsDirectIo();
  }

  Json Run() {
    Print(FormatSetting(options_, workspace_->path().string(),
                        database_options_.direct_io));
    Json results = Json::array();
    for (const TreePlan& plan : options_.trees) {
      for (Json& row : RunTree(plan)) results.push_back(std::move(row));
    }
    return results;
  }

 private:
  void Print(const std::string& text) {
    progress_.Clear();
    if (!options_.files.StdoutTaken()) bench::Print(text);
  }

  Json RunTree(const TreePlan& plan) {
    const KeySet keys(plan.keys, options_.seed);
    Databases databases;
    for (const Contender& contender : options_.contenders) {
      progress_.SetActivity("loading: " + contender.name);
      const uint64_t table_keys =
          database_options_.table_bytes / database_options_.EntryBytes();
      databases.push_back(std::make_unique<Database>(
          contender,
          options_.preset->equal_bytes
              ? MakePolicyOfSize(contender, plan, table_keys,
                                 options_.bits_per_key)
              : MakePolicy(contender, options_.bits_per_key),
          workspace_->Add(plan.name + "-" + contender.name).string(),
          database_options_, keys));
      databases.back()->Build(plan, &progress_);
    }
    Print("\nTree " + plan.name +
          ", the same in every database; sorted runs, newest first:\n\n" +
          FormatRuns(databases.front()->tree()) + "\n");
    progress_.SetActivity("measuring lookups");
    Json results = MeasureAll(databases, plan, keys);
    CompareWithBloom(&results);
    Print(FormatResults(*options_.preset, results));
    while (!databases.empty()) {
      const std::string path = databases.back()->path();
      databases.pop_back();
      if (options_.db.empty()) std::filesystem::remove_all(path);
    }
    return results;
  }

  Json MeasureAll(const Databases& databases, const TreePlan& plan,
                  const KeySet& keys) {
    MeasurePlan measure;
    measure.turn = options_.preset->turn;
    measure.lookups = options_.lookups;
    measure.max_seconds = options_.max_seconds;
    measure.steps_per_lookup =
        static_cast<double>(plan.keys * databases.size()) /
        static_cast<double>(measure.lookups);
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
  bench::Workspace* const workspace_;
  bench::ProgressBar progress_;
};

int Main(Options* options) {
  bench::Workspace workspace(options->db, "deltabloom-demo");
  Json document;
  document["preset"] = options->preset->name;
  document["rocksdb"] = rocksdb::GetRocksVersionAsString();
  document["bits_per_key"] = options->bits_per_key;
  document["seed"] = options->seed;
  document["runs"] = Program(*options, &workspace).Run();
  options->files.Write(document);
  workspace.Keep();
  return ExitCode(document["runs"]);
}

}  // namespace
}  // namespace deltabloom::db_reads

int main(int argc, char** argv) {
  return deltabloom::bench::RunProgram("demo", [argc, argv] {
    deltabloom::db_reads::Options options;
    if (!deltabloom::db_reads::ParseOptions(argc, argv, &options)) return 0;
    return deltabloom::db_reads::Main(&options);
  });
}
