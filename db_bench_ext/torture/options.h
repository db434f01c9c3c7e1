// The command line of the torture.
#ifndef DELTABLOOM_DB_BENCH_EXT_TORTURE_OPTIONS_H_
#define DELTABLOOM_DB_BENCH_EXT_TORTURE_OPTIONS_H_

#include <cstdint>
#include <string>

namespace deltabloom::torture {

struct Options {
  uint64_t cycles = 100;
  uint64_t first = 0;
  uint64_t seed = 0;
  uint64_t timeout_seconds = 300;
  std::string keep;  // empty: a temporary folder
  std::string json;  // empty: none
  bool verbose = false;
};

// False if help was asked for, which has been printed. Throws
// bench::UsageError.
bool ParseOptions(int argc, char** argv, Options* options);

}  // namespace deltabloom::torture

#endif  // DELTABLOOM_DB_BENCH_EXT_TORTURE_OPTIONS_H_
