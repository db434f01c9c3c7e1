// The command line of levels_bench.
#ifndef DELTABLOOM_DB_BENCH_EXT_LEVELS_OPTIONS_H_
#define DELTABLOOM_DB_BENCH_EXT_LEVELS_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "db_bench_ext/levels/contenders.h"
#include "db_bench_ext/levels/database.h"

namespace deltabloom::levels {

struct Options {
  std::vector<TreePlan> trees;
  std::vector<Contender> contenders;
  double bits_per_key = 10;
  uint64_t lookups = 2'000'000;
  uint64_t seed = 1;
  std::string db;    // empty: a temporary folder
  std::string json;  // empty: none
  std::string csv;   // empty: none
  bool quick = false;
};

// False if help was asked for, which has been printed. Throws
// bench::UsageError.
bool ParseOptions(int argc, char** argv, Options* options);

}  // namespace deltabloom::levels

#endif  // DELTABLOOM_DB_BENCH_EXT_LEVELS_OPTIONS_H_
