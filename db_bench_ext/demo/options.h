// The command line of the demo.
#ifndef DELTABLOOM_DB_BENCH_EXT_DEMO_OPTIONS_H_
#define DELTABLOOM_DB_BENCH_EXT_DEMO_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace deltabloom::demo {

struct Options {
  uint64_t keys = 1'000'000;
  double bits_per_key = 10;
  std::vector<std::string> layouts = {"classic", "local", "auto",
                                      "auto:levels"};
  std::string db;  // empty: a temporary folder
  uint64_t seed = 1;
  uint64_t lookups = 0;  // 0: kDefaultLookups, fewer if time runs short
  std::string json;      // empty: none
  std::string plot;      // empty: none
};

inline constexpr uint64_t kDefaultLookups = 40'000;

// False if help was asked for, which has been printed. Throws
// bench::UsageError.
bool ParseOptions(int argc, char** argv, Options* options);

}  // namespace deltabloom::demo

#endif  // DELTABLOOM_DB_BENCH_EXT_DEMO_OPTIONS_H_
