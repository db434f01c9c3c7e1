#include "db_bench_ext/demo/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "db_bench_ext/common/program.h"
#include "db_bench_ext/demo/contenders.h"
#include "db_bench_ext/demo/database.h"
#include "db_bench_ext/demo/growth.h"
#include "db_bench_ext/demo/range_filters.h"
#include "db_bench_ext/demo/scans.h"
#include "db_bench_ext/demo/schemas.h"
#include "db_bench_ext/demo/tree.h"

namespace deltabloom::demo {
namespace {

using bench::UsageError;

constexpr char kDemo[] = "demo";
constexpr char kLevels[] = "levels";
constexpr char kPhases[] = "phases";
constexpr char kDatabase[] = "database";
constexpr char kRanges[] = "ranges";
constexpr char kFresh[] = "fresh";
constexpr char kOverwritten[] = "overwritten";
constexpr char kCompacted[] = "compacted";
constexpr char kLoading[] = "loading";

constexpr size_t kMiB = 1 << 20;
constexpr double kNoLimit = std::numeric_limits<double>::infinity();

Preset DemoPreset() {
  return {kDemo,
          1'000'000,
          /*bits_per_key=*/10,
          40'000,
          {kNoFilter, kRocksDBBloom, kDefault, "rocksdb-ribbon",
           "deltabloom-classic", "deltabloom-local", kUniform},
          /*max_seconds=*/3,
          /*takes_turns=*/false,
          {64, 1 * kMiB, 4 * kMiB, false, /*direct_io=*/true},
          {{Lookup::kAbsent, 250}, {Lookup::kPresent, 50}}};
}

Preset LevelsPreset() {
  return {kLevels,
          0,
          /*bits_per_key=*/10,
          200'000,
          {kRocksDBBloom, kUniform, kDefault},
          /*max_seconds=*/kNoLimit,
          /*takes_turns=*/true,
          {16, 64 * kMiB, 4 * kMiB, false, false},
          {}};
}

Preset PhasesPreset() {
  return {kPhases,
          200'000,
          /*bits_per_key=*/10,
          200'000,
          {kRocksDBBloom, kUniform, kDefault},
          /*max_seconds=*/kNoLimit,
          /*takes_turns=*/true,
          {100, 64 * kMiB, 4 * kMiB, false, false},
          {}};
}

Preset DatabasePreset() {
  return {kDatabase,
          1'000'000,
          /*bits_per_key=*/10,
          200'000,
          {kNoFilter, kRocksDBBloom, "rocksdb-ribbon", "deltabloom-classic",
           "deltabloom-local", kDefault},
          /*max_seconds=*/kNoLimit,
          /*takes_turns=*/true,
          {32, 4096 * kMiB, 1024 * kMiB, /*filters_in_cache=*/true, false},
          {{Lookup::kAbsent, 512},
           {Lookup::kPresent, 512},
           {Lookup::kMultiAbsent, 512}}};
}

Preset RangesPreset() {
  return {kRanges,
          100'000,
          /*bits_per_key=*/8,
          4000,
          RangeFilterNames(),
          /*max_seconds=*/kNoLimit,
          /*takes_turns=*/true,
          {100, 4096 * kMiB, 4 * kMiB, false, false},
          {}};
}

Preset LoadingPreset() {
  return {kLoading,
          2'000'000,
          /*bits_per_key=*/10,
          20'000,
          {},
          /*max_seconds=*/kNoLimit,
          /*takes_turns=*/true,
          {64, 64 * kMiB, 16 * kMiB, false, false},
          {}};
}

const std::vector<Preset>& Presets() {
  static const auto* const presets = new std::vector<Preset>{
      DemoPreset(),     LevelsPreset(), PhasesPreset(),
      DatabasePreset(), RangesPreset(), LoadingPreset()};
  return *presets;
}

// The options that the user gave; the preset's values replace those that are
// missing.
struct Given {
  std::string preset = kDemo;
  uint64_t keys = 0;
  double bits_per_key = 0;
  std::vector<std::string> filters;
  std::vector<std::string> trees;
  std::vector<std::string> schemas;
  std::string state;
  uint64_t table_bytes = 0;
};

std::vector<std::string> SchemaNames() {
  std::vector<std::string> names;
  for (const Schema& schema : Schemas()) names.push_back(schema.name);
  return names;
}

std::vector<std::string> TreeNames() {
  std::vector<std::string> names;
  for (const GrownTree& tree : GrownTrees()) names.push_back(tree.name);
  return names;
}

// Joins the names in lines that fit the help.
std::string JoinedNames(const std::vector<std::string>& names) {
  constexpr size_t kLine = 60;
  std::string text;
  size_t line = 0;
  for (const std::string& name : names) {
    if (!text.empty()) text += ",";
    const bool full = text.size() - line + name.size() > kLine;
    if (!text.empty()) text += full ? "\n" : " ";
    if (full) line = text.size();
    text += name;
  }
  return text;
}

// The databases that are measured, in the order of the help.
void DeclareDatabases(CLI::App* app, Given* given) {
  app->add_option(
         "--preset", given->preset,
         "demo: five sorted runs, reads per filter\n"
         "levels: trees as RocksDB's own compactions make them: bits per key\n"
         "and false positives; ten minutes\n"
         "phases: a load of YCSB's kind: inserts, hits and overwrites, misses\n"
         "database: one table in the block cache, times of Get and MultiGet,\n"
         "with full and with partitioned filters\n"
         "ranges: scans that find 0, 1 and 10 keys, forward and backward, of\n"
         "keys as databases have them\n"
         "loading: filters in a block cache that holds a part of them: bytes\n"
         "and blocks read for an absent key, full and partitioned filters, "
         "with\n"
         "the bits set and with those that fit that part [demo]")
      ->check(CLI::IsMember(
          {"demo", kLevels, kPhases, "database", kRanges, kLoading}));
  app->add_option("--keys", given->keys,
                  "Keys, 1000 to 100000000 [1000000; phases: 200000; ranges:\n"
                  "100000 in each schema; loading: 2000000]; not with levels")
      ->transform(bench::Count(1000, 100'000'000));
  app->add_option("--bits-per-key", given->bits_per_key,
                  "Size of the filters, 1 to 100: the setting of every policy\n"
                  "[10; ranges: 8]")
      ->transform(bench::Number(1, 100));
  bench::AsList(app->add_option(
      "--filters", given->filters,
      "of " + JoinedNames(FilterNames()) +
          "\ndeltabloom: bits_per_key and nothing else set; -compact-uniform: "
          "the\nsame bits in all tables; -refilter: replaced by deltabloom "
          "refilter\nranges: " +
          JoinedNames(RangeFilterNames())));
  bench::AsList(
      app->add_option("--schemas", given->schemas,
                      "ranges: of " + JoinedNames(SchemaNames()) + " [all]"));
}

void DeclareFile(CLI::App* app, Options* options) {
  app->add_option("--keys-from", options->file_keys.path,
                  "ranges: keys from the lines of FILE, in place of schemas. A "
                  "tenth is\nheld out; scans are of the children of a key and "
                  "of the siblings of\none that is held out")
      ->type_name("FILE");
  app->add_option("--delimiter", options->file_keys.delimiter,
                  "ranges: the byte C between parents and children, or the "
                  "number of\nbytes that the keys of a scan share [/]")
      ->type_name("C");
}

void DeclareLookups(CLI::App* app, Options* options) {
  app->add_option(
         "--lookups", options->lookups,
         "Lookups of absent keys per database [demo: 40000, fewer "
         "where the disk\nis slow; levels, database, each of the phases: "
         "200000; ranges: scans of each\nkind, 4000; loading: 20000 "
         "and as many before, which fill the cache]")
      ->transform(bench::Count(100, 1'000'000'000));
  app->add_option("--seed", options->seed, "Choice and order of the keys [1]")
      ->transform(bench::Count(0, std::numeric_limits<uint64_t>::max()));
}

// The shape of the trees, and where they are.
void DeclareTrees(CLI::App* app, Given* given, Options* options) {
  bench::AsList(
      app->add_option("--trees", given->trees,
                      "levels: of " + JoinedNames(TreeNames()) + "\n[all]"));
  bench::AsList(
      app->add_option(
          "--steps", options->steps,
          "levels: what the tables of the tree would have if those that are "
          "not\n"
          "bottommost got 0 to 20 bits per key more, by the formulas\n"
          "[none]"))
      ->transform(bench::Number(0, 20));
  app->add_option("--db", options->db,
                  "Keep the databases in DIR, which must be new or empty\n"
                  "[a temporary folder under $TMPDIR, removed at the end]")
      ->type_name("DIR");
  app->add_option("--state", given->state,
                  "ranges: fresh (two sorted runs), overwritten (four, with "
                  "older versions\nof some keys) or compacted (one) [five]")
      ->check(CLI::IsMember({kFresh, kOverwritten, kCompacted}));
  app->add_option("--table-bytes", given->table_bytes,
                  "ranges: where a table ends, 4k to 1000M [4M]")
      ->transform(bench::Count(4000, 1'000'000'000));
}

void Declare(CLI::App* app, Given* given, Options* options) {
  DeclareDatabases(app, given);
  DeclareFile(app, options);
  DeclareLookups(app, options);
  DeclareTrees(app, given, options);
  options->files.DeclareJson(app);
  options->files.DeclarePlot(app, "demo/plot.py", "Draw the results as PNG");
}

// Returns the names that the option gave, or `preset` without any. Throws
// UsageError if one is not among `all`, or named twice.
std::vector<std::string> NamesOf(const std::string& option,
                                 const std::vector<std::string>& given,
                                 const std::vector<std::string>& all,
                                 const std::vector<std::string>& preset) {
  for (const std::string& name : given) {
    if (std::count(all.begin(), all.end(), name) == 0) {
      throw UsageError(option + ": '" + name + "' is unknown");
    }
    if (std::count(given.begin(), given.end(), name) > 1) {
      throw UsageError(option + ": '" + name + "' is named twice");
    }
  }
  return given.empty() ? preset : given;
}

std::vector<const GrownTree*> GrownTreesOf(const Given& given) {
  const std::vector<std::string> names =
      NamesOf("--trees", given.trees, TreeNames(), TreeNames());
  std::vector<const GrownTree*> trees;
  for (const GrownTree& tree : GrownTrees()) {
    if (std::count(names.begin(), names.end(), tree.name) > 0) {
      trees.push_back(&tree);
    }
  }
  return trees;
}

std::vector<const Schema*> SchemasOf(const Given& given) {
  const std::vector<std::string> names =
      NamesOf("--schemas", given.schemas, SchemaNames(), SchemaNames());
  std::vector<const Schema*> schemas;
  for (const Schema& schema : Schemas()) {
    if (std::count(names.begin(), names.end(), schema.name) > 0) {
      schemas.push_back(&schema);
    }
  }
  return schemas;
}

std::vector<TreePlan> TreesOf(const Preset& preset, uint64_t keys) {
  if (preset.name == kDemo) return {DemoTree(keys)};
  if (preset.name == kDatabase) {
    return {OneTable(keys, false), OneTable(keys, true)};
  }
  if (preset.name == kLoading) {
    return {LoadingTree(keys, false), LoadingTree(keys, true)};
  }
  return {};
}

// Replaces the schemas by the keys of the file.
void UseFile(Options* options) {
  std::string* const delimiter = &options->file_keys.delimiter;
  if (delimiter->empty()) *delimiter = "/";
  const bool is_number =
      delimiter->find_first_not_of("0123456789") == std::string::npos;
  if (!is_number && delimiter->size() != 1) {
    throw UsageError("--delimiter: '" + *delimiter +
                     "' is neither one byte nor a number of bytes");
  }
  Schema* const schema = &options->file_schema;
  schema->name = "file";
  schema->scans =
      is_number ? "keys that share their first bytes" : "children and siblings";
  schema->prefixes = is_number ? *delimiter : "'" + *delimiter + "'";
  options->schemas = {schema};
}

// Makes the folder, which must be new or empty.
void UseFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error && !std::filesystem::is_empty(path, error) && !error) {
    error = std::make_error_code(std::errc::directory_not_empty);
  }
  if (!error) return;
  throw UsageError("--db: " + path + ": " + error.message() +
                   "; name a new or empty folder");
}

void RefuseOptionsOfOtherPresets(const CLI::App& app, const Preset& preset) {
  for (const auto& [name, needed] : {std::pair{"--trees", kLevels},
                                     {"--steps", kLevels},
                                     {"--schemas", kRanges},
                                     {"--keys-from", kRanges},
                                     {"--delimiter", kRanges},
                                     {"--state", kRanges},
                                     {"--table-bytes", kRanges}}) {
    if (app.count(name) > 0 && preset.name != needed) {
      throw UsageError(std::string(name) + ": needs --preset " + needed);
    }
  }
  if (app.count("--filters") > 0 && IsLoading(preset)) {
    throw UsageError("--filters: not with --preset loading, which has its own");
  }
  if (app.count("--keys") > 0 && IsLevels(preset)) {
    throw UsageError(
        "--keys: not with --preset levels, whose trees have each "
        "their number of keys");
  }
}

// Sets what every preset has, the preset's values for those that the user did
// not give.
void UseNumbers(const CLI::App& app, const Given& given, Options* options) {
  const Preset& preset = *options->preset;
  options->keys = given.keys == 0 ? preset.keys : given.keys;
  options->bits_per_key = app.count("--bits-per-key") > 0 ? given.bits_per_key
                                                          : preset.bits_per_key;
  options->database = preset.database;
  if (given.table_bytes > 0) options->database.table_bytes = given.table_bytes;
  options->max_seconds = kNoLimit;
  if (options->lookups == 0) {
    options->lookups = preset.lookups;
    options->max_seconds = preset.max_seconds;
  }
}

void UseRanges(const Given& given, Options* options) {
  options->schemas = SchemasOf(given);
  if (given.state == kFresh) options->state = TreeState::kFresh;
  if (given.state == kOverwritten) options->state = TreeState::kOverwritten;
  if (given.state == kCompacted) options->state = TreeState::kCompacted;
  if (!options->file_keys.path.empty()) UseFile(options);
  options->range_filters = NamesOf("--filters", given.filters,
                                   RangeFilterNames(), RangeFilterNames());
}

void UseTrees(const Given& given, Options* options) {
  const Preset& preset = *options->preset;
  options->filters =
      NamesOf("--filters", given.filters, FilterNames(), preset.filters);
  options->trees = TreesOf(preset, options->keys);
  if (IsLevels(preset)) options->grown = GrownTreesOf(given);
}

}  // namespace

bool IsRanges(const Preset& preset) { return preset.name == kRanges; }
bool IsLoading(const Preset& preset) { return preset.name == kLoading; }
bool IsLevels(const Preset& preset) { return preset.name == kLevels; }
bool IsPhases(const Preset& preset) { return preset.name == kPhases; }

bool ParseOptions(int argc, char** argv, Options* options) {
  CLI::App app(
      "Loads the same keys into a RocksDB database per filter and shows what "
      "each filter saves:\ndata-block reads per lookup and false positives. "
      "Each filter of the demo is shown as soon\nas it is measured; times "
      "compare in the preset database only.");
  app.name("script/demo");
  app.footer(
      "Counts may end in k or M: 100k, 10M. Lists are separated by commas.\n"
      "Exit code: 0, 1 if a present key was missed, if a phase had more false "
      "positives with\ndeltabloom than with deltabloom-compact-uniform or if "
      "the run failed, 2 for bad usage.");
  Given given;
  Declare(&app, &given, options);
  if (!bench::ParseCommandLine({argv + 1, argv + argc}, &app)) return false;
  for (const Preset& preset : Presets()) {
    if (preset.name == given.preset) options->preset = &preset;
  }
  RefuseOptionsOfOtherPresets(app, *options->preset);
  UseNumbers(app, given, options);
  if (IsRanges(*options->preset)) {
    UseRanges(given, options);
  } else {
    UseTrees(given, options);
  }
  options->files.Claim();
  if (app.count("--db") > 0) UseFolder(options->db);
  return true;
}

}  // namespace deltabloom::demo
