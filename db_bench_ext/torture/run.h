// Cycle after cycle: a process works on a database and is killed, another one
// judges what is left.
#ifndef DELTABLOOM_DB_BENCH_EXT_TORTURE_RUN_H_
#define DELTABLOOM_DB_BENCH_EXT_TORTURE_RUN_H_

#include <cstdint>
#include <functional>
#include <string>

#include "db_bench_ext/torture/journal.h"
#include "db_bench_ext/torture/plan.h"

namespace deltabloom::torture {

// A database lives for so many cycles; then the next one begins empty.
inline constexpr uint64_t kCyclesPerDatabase = 20;

struct RunOptions {
  uint64_t seed = 1;
  uint64_t first = 0;  // cycle
  uint64_t cycles = 20;
  // A process that takes longer is a failure; what it waits for a processor
  // does not count.
  uint64_t timeout_seconds = 300;
  std::string folder;  // must exist; is emptied
  Sabotage sabotage;
  // Called before each cycle, with what it will do, and after it.
  std::function<void(const std::string&)> before_cycle;
  std::function<void()> after_cycle;
};

struct Failure {
  uint64_t cycle = 0;
  std::string what;  // lines; empty: none
};

// Until the first failure; what was counted is in journal->totals. A failure
// leaves the folder as it is. Throws std::runtime_error.
Failure Run(const RunOptions& options, Journal* journal);

// The first cycle of the database that the cycle works on.
uint64_t FirstOfDatabase(uint64_t cycle);

}  // namespace deltabloom::torture

#endif  // DELTABLOOM_DB_BENCH_EXT_TORTURE_RUN_H_
