// The command line of script/demo, its presets, and its results: one JSON
// object per database, from which all text is printed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "db_bench_ext/common/results.h"
#include "db_bench_ext/demo/database.h"
#include "db_bench_ext/demo/growth.h"
#include "db_bench_ext/demo/loading.h"
#include "db_bench_ext/demo/phases.h"
#include "db_bench_ext/demo/scans.h"
#include "db_bench_ext/demo/schemas.h"
#include "db_bench_ext/demo/tree.h"

namespace deltabloom::demo {

// The fixed values of a preset, and its defaults of options.
struct Preset {
  std::string name;
  uint64_t keys;
  double bits_per_key;
  uint64_t lookups;  // ranges: scans of each kind; loading: per row
  std::vector<std::string> filters;
  double max_seconds;  // of measuring, unless --lookups is set
  // All databases of a tree are loaded, then take turns, so that their times
  // compare. Else each is loaded, measured and shown before the next.
  bool takes_turns;
  DatabaseOptions database;
  std::vector<TurnPart> turn;
};

struct Options {
  const Preset* preset = nullptr;
  uint64_t keys = 0;
  std::vector<TreePlan> trees;
  std::vector<const GrownTree*> grown;  // of the preset levels only
  std::vector<double> steps;            // the same
  std::vector<std::string> filters;
  std::vector<const Schema*> schemas;      // of the preset ranges only
  std::vector<std::string> range_filters;  // the same
  TreeState state = TreeState::kFiveRuns;  // the same
  Schema file_schema;                      // the same: of file_keys
  FileKeys file_keys;                      // the same; no path: none
  DatabaseOptions database;
  double bits_per_key = 0;
  uint64_t lookups = 0;
  double max_seconds = 0;  // of measuring
  uint64_t seed = 1;
  std::string db;  // empty: a temporary folder
  bench::ResultFiles files;
};

// Returns false after printing the help. Throws UsageError.
bool ParseOptions(int argc, char** argv, Options* options);

// The preset with schemas and range filters, in place of trees and filters.
bool IsRanges(const Preset& preset);

// The preset with caches that hold a part of the filters, in place of
// filters that are named.
bool IsLoading(const Preset& preset);

// The presets with trees of RocksDB's own compactions.
bool IsLevels(const Preset& preset);
bool IsPhases(const Preset& preset);

// The result of one database. `absent` is a sample of the absent keys that were
// looked up.
bench::Json ResultOf(const Database& database, const TreePlan& plan,
                     const std::vector<TurnPart>& turn,
                     const std::vector<Counts>& counts,
                     const std::vector<std::string>& absent);

// The result of one database of the preset ranges.
bench::Json ResultOfScans(const Schema& schema,
                          const ScannedDatabase& database);

// The result of one database and cache of the preset loading.
bench::Json ResultOfLoading(const TreePlan& plan, const LoadingResult& result);

// The result of one database of the preset levels.
bench::Json ResultOfGrowth(const GrownTree& tree, const Database& database,
                           const Counts& counts,
                           const std::vector<double>& steps,
                           const std::vector<std::string>& absent);

// The results of one database of the preset phases.
bench::Json ResultsOfPhases(const Database& database,
                            const std::vector<PhaseResult>& phases);

// Adds more_than_uniform to the results of kDefault: whether a phase has more
// false positives per lookup than with kUniform, beyond the binomial error.
void CompareWithUniform(bench::Json* results);

// The setting, before the work begins.
std::string FormatSetting(const Options& options, const std::string& folder,
                          bool direct_io);

// The sorted runs, newest first.
std::string FormatRuns(const Tree& tree);

// A line of the table of results: of a database, or the titles for null.
std::string FormatResult(const Preset& preset, const bench::Json& result);

// What follows the table of one tree: missed keys, and for the demo what
// kDefault saves compared with RocksDB's Bloom.
std::string FormatSummary(const Preset& preset, const bench::Json& results);

// The results of one tree of the preset loading.
std::string FormatLoading(const bench::Json& results);

// The results of one tree of the preset levels.
std::string FormatGrowth(const GrownTree& tree, const bench::Json& results);

std::string FormatPhases(const bench::Json& results);

// The results of one schema.
std::string FormatScans(const bench::Json& results);

}  // namespace deltabloom::demo
