#include "db_bench_ext/db/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <map>

#include "db_bench_ext/common/program.h"

namespace deltabloom::db_reads {
namespace {

using bench::UsageError;

constexpr char kBeforeLayouts[] = "none,rocksdb-bloom,rocksdb-ribbon";

const std::vector<Preset>& Presets() {
  constexpr size_t kMiB = 1 << 20;
  constexpr double kNoLimit = std::numeric_limits<double>::infinity();
  static const auto* const presets = new std::vector<Preset>{
      {"demo",
       1'000'000,
       40'000,
       std::string(kBeforeLayouts) +
           ",deltabloom-classic,deltabloom-local,deltabloom-auto,"
           "deltabloom-auto-levels",
       /*equal_bytes=*/false,
       /*max_seconds=*/20,
       {64, 1 * kMiB, 4 * kMiB, false, /*direct_io=*/true},
       {{Lookup::kAbsent, 250}, {Lookup::kPresent, 50}}},
      {"levels",
       2'222'200,
       2'000'000,
       std::string(kBeforeLayouts) +
           ",rocksdb-bloom-by-hand,rocksdb-ribbon-by-hand,deltabloom-local,"
           "deltabloom-compact,deltabloom-compact-by-hand,"
           "deltabloom-compact-levels,deltabloom-auto-levels",
       /*equal_bytes=*/true,
       /*max_seconds=*/kNoLimit,
       {16, 8 * kMiB, 4 * kMiB, false, false},
       {{Lookup::kAbsent, 4000}, {Lookup::kPresent, 500}}},
      {"database",
       1'000'000,
       200'000,
       std::string(kBeforeLayouts) +
           ",deltabloom-classic,deltabloom-local,deltabloom-compact,"
           "deltabloom-auto-range",
       /*equal_bytes=*/false,
       /*max_seconds=*/kNoLimit,
       {32, 4096 * kMiB, 1024 * kMiB, /*filters_in_cache=*/true, false},
       {{Lookup::kAbsent, 512},
        {Lookup::kPresent, 512},
        {Lookup::kMultiAbsent, 512},
        {Lookup::kEmptyRange, 512}}},
  };
  return *presets;
}

const Preset* FindPreset(const std::string& name) {
  for (const Preset& preset : Presets()) {
    if (name == preset.name) return &preset;
  }
  throw UsageError("--preset: '" + name +
                   "' is not one of demo, levels, database");
}

// Values are read as text, so that all errors have the same form.
class Texts {
 public:
  explicit Texts(CLI::App* app) : app_(app) {}

  void Declare(const char* name, const char* type,
               const std::string& description) {
    app_->add_option(name, texts_[name], description)->type_name(type);
  }
  bool IsSet(const char* name) const { return app_->count(name) > 0; }
  std::string Get(const char* name, const std::string& otherwise) const {
    return IsSet(name) ? texts_.at(name) : otherwise;
  }
  uint64_t Count(const char* name, uint64_t least, uint64_t most,
                 uint64_t otherwise) const {
    if (!IsSet(name)) return otherwise;
    return bench::ParseCount(name, texts_.at(name), least, most);
  }

 private:
  CLI::App* const app_;
  std::map<std::string, std::string> texts_;
};

void Declare(CLI::App* app, Texts* texts, Options* options) {
  texts->Declare(
      "--preset", "NAME",
      "demo: five sorted runs, reads and times per filter\n"
      "levels: --trees of any shape, filters of equal bytes\n"
      "database: one table in the block cache, times of Get, MultiGet and\n"
      "seeks, with full and with partitioned filters [demo]");
  texts->Declare("--keys", "N",
                 "Keys, or writes of trees that grow, 1000 to 100000000\n"
                 "[1000000; levels: 2222200]");
  texts->Declare("--bits-per-key", "BITS",
                 "Size of the filters, 1 to 100: the setting of every policy;\n"
                 "with levels the stored bits of every filter [10]");
  texts->Declare(
      "--layout", "LAYOUT ...",
      "Instead of --filters: Deltabloom's layouts, beside none and RocksDB's\n"
      "Bloom and Ribbon: classic, local, compact, auto, also :levels, :range");
  texts->Declare(
      "--filters", "LIST",
      "none, rocksdb-bloom, rocksdb-ribbon, deltabloom-LAYOUT; with -levels:\n"
      "allocation=levels, -range: range=on, -by-hand: the best bits per level\n"
      "of a tree that is known beforehand");
  texts->Declare(
      "--lookups", "N",
      "Lookups of absent keys per database [demo: 40000, fewer where the disk\n"
      "is slow; levels: 2000000; database: 200000]");
  texts->Declare("--seed", "N", "Choice and order of the keys [1]");
  texts->Declare(
      "--trees", "LIST",
      "levels: settled, where each level has exactly its share, or insert,\n"
      "overwrite, delete, mixed: grown by RocksDB from such writes [settled]");
  texts->Declare(
      "--runs", "LIST",
      "levels: sorted runs, 1 to 7, or levels of trees that grow, 3\n"
      "to 7 [5]");
  texts->Declare("--size-ratio", "LIST",
                 "levels: of a level to the one above, 2 to 100 [10]");
  texts->Declare("--db", "DIR",
                 "Keep the databases in DIR, which must be new or empty\n"
                 "[a temporary folder under $TMPDIR, removed at the end]");
  options->files.DeclareJson(app);
  options->files.DeclarePlot(app, "db/plot.py", "Draw the results as PNG");
}

std::vector<Contender> ParseContenders(const Texts& texts,
                                       const Preset& preset) {
  std::vector<std::string> names =
      bench::SplitList(texts.Get("--filters", preset.filters));
  const char* option = "--filters";
  if (texts.IsSet("--layout")) {
    if (texts.IsSet("--filters")) {
      throw UsageError("--layout: not together with --filters");
    }
    option = "--layout";
    names = bench::SplitList(kBeforeLayouts);
    for (std::string layout : bench::SplitList(texts.Get("--layout", ""))) {
      std::replace(layout.begin(), layout.end(), ':', '-');
      names.push_back("deltabloom-" + layout);
    }
  }
  if (names.empty()) throw UsageError(std::string(option) + ": an empty list");
  std::vector<Contender> contenders;
  for (const std::string& name : names) {
    if (std::count(names.begin(), names.end(), name) > 1) {
      throw UsageError(std::string(option) + ": '" + name + "' is named twice");
    }
    contenders.push_back(FindContender(option, name));
  }
  return contenders;
}

std::vector<TreePlan> ParseTrees(const Texts& texts, const Preset& preset) {
  const uint64_t keys = texts.Count("--keys", 1000, 100'000'000, preset.keys);
  const std::string name = preset.name;
  if (name == "demo") return {DemoTree(keys)};
  if (name == "database") return {OneTable(keys, false), OneTable(keys, true)};
  std::vector<unsigned> runs, ratios;
  bench::ParseCounts("--runs", texts.Get("--runs", "5"), 1, 7, &runs);
  bench::ParseCounts("--size-ratio", texts.Get("--size-ratio", "10"), 2, 100,
                     &ratios);
  const auto growths = bench::ParseList<const Growth*>(
      "--trees", texts.Get("--trees", "settled"), FindGrowth);
  std::vector<TreePlan> trees;
  for (const Growth* const growth : growths) {
    for (const unsigned ratio : ratios) {
      for (const unsigned number : runs) {
        trees.push_back(LevelsTree(growth, number, ratio, keys));
      }
    }
  }
  return trees;
}

}  // namespace

bool ParseOptions(int argc, char** argv, Options* options) {
  CLI::App app(
      "Loads the same keys into a RocksDB database per filter and shows what "
      "each filter saves:\ndata-block reads per lookup beside the predicted "
      "ones, false positives, times. The demo\ntakes about a minute.");
  app.name("script/demo");
  app.footer(
      "Counts may end in k or M: 100k, 10M. Lists are separated by commas.\n"
      "Exit code: 0, 1 if a present key was missed or the run failed, 2 for "
      "bad usage.");
  Texts texts(&app);
  Declare(&app, &texts, options);
  if (!bench::ParseCommandLine({argv + 1, argv + argc}, &app)) return false;
  options->preset = FindPreset(texts.Get("--preset", "demo"));
  for (const char* name : {"--trees", "--runs", "--size-ratio"}) {
    if (app.count(name) > 0 && options->preset->name != std::string("levels")) {
      throw UsageError(std::string(name) + ": needs --preset levels");
    }
  }
  options->max_seconds = texts.IsSet("--lookups")
                             ? std::numeric_limits<double>::infinity()
                             : options->preset->max_seconds;
  options->lookups =
      texts.Count("--lookups", 100, 1'000'000'000, options->preset->lookups);
  options->seed = texts.Count("--seed", 0, std::numeric_limits<uint64_t>::max(),
                              options->seed);
  options->bits_per_key = bench::ParseNumber(
      "--bits-per-key", texts.Get("--bits-per-key", "10"), 1, 100);
  options->db = texts.Get("--db", "");
  if (texts.IsSet("--db") && options->db.empty()) {
    throw UsageError("--db: the name is empty");
  }
  options->contenders = ParseContenders(texts, *options->preset);
  options->trees = ParseTrees(texts, *options->preset);
  const bool settled =
      std::all_of(options->trees.begin(), options->trees.end(),
                  [](const TreePlan& plan) { return plan.growth == nullptr; });
  for (const Contender& contender : options->contenders) {
    if (contender.variant == Variant::kByHand &&
        !(settled && options->preset->equal_bytes)) {
      throw UsageError("--filters: '" + contender.name +
                       "' needs --preset levels with --trees settled");
    }
  }
  options->files.Claim();
  return true;
}

}  // namespace deltabloom::db_reads
