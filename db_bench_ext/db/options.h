// The command line of db_reads, and its presets.
#ifndef DELTABLOOM_DB_BENCH_EXT_DB_OPTIONS_H_
#define DELTABLOOM_DB_BENCH_EXT_DB_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "db_bench_ext/common/results.h"
#include "db_bench_ext/db/contenders.h"
#include "db_bench_ext/db/database.h"
#include "db_bench_ext/db/measure.h"
#include "db_bench_ext/db/plan.h"

namespace deltabloom::db_reads {

// What is fixed for a preset, and the defaults of options.
struct Preset {
  std::string name;
  uint64_t keys;
  uint64_t lookups;
  // After none and RocksDB's Bloom and Ribbon.
  std::vector<std::string> filters;
  bool equal_bytes;    // filters have bits_per_key stored, not as setting
  double max_seconds;  // of measuring, unless --lookups is set
  DatabaseOptions database;
  std::vector<TurnPart> turn;
};

struct Options {
  const Preset* preset = nullptr;
  std::vector<TreePlan> trees;
  std::vector<Contender> contenders;
  double bits_per_key = 10;
  uint64_t lookups = 0;
  double max_seconds = 0;  // of measuring
  uint64_t seed = 1;
  std::string db;  // empty: a temporary folder
  bench::ResultFiles files;
};

// Returns false after printing the help. Throws UsageError.
bool ParseOptions(int argc, char** argv, Options* options);

}  // namespace deltabloom::db_reads

#endif  // DELTABLOOM_DB_BENCH_EXT_DB_OPTIONS_H_
