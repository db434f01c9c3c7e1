// Cycle after cycle: a process works on a database and is killed, another one
// judges what is left.
#ifndef DELTABLOOM_TESTS_TORTURE_RUN_H_
#define DELTABLOOM_TESTS_TORTURE_RUN_H_

#include <cstdint>
#include <functional>
#include <string>

#include "tests/torture/database.h"
#include "tests/torture/model.h"
#include "tests/torture/plan.h"

namespace deltabloom::torture {

struct RunOptions {
  uint64_t seed = 1;
  uint64_t first = 0;  // cycle
  uint64_t cycles = 20;
  // A process that takes longer is a failure. Its waiting for a processor does
  // not count: on a busy machine that may be most of the time.
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

// Until the first failure; the counts are in journal->totals. A failure leaves
// the folder as it is. Throws std::runtime_error.
Failure Run(const RunOptions& options, Journal* journal);

// The first cycle of the database that the cycle works on: a database lives for
// 20 cycles, then the next one begins empty.
uint64_t FirstOfDatabase(uint64_t cycle);

// The processes of a cycle. Their failures are in the journal, or thrown.

// Writes until it is killed, or closes the database.
void RunWork(const Plan& plan, const Folders& folders, const Sabotage& sabotage,
             Journal* journal);

// Opens the database afterwards and judges it. Leaves it closed, everything in
// its tables, and the new state in its file, unless it had to be abandoned.
void RunCheck(const Plan& plan, Ending ending, const Folders& folders,
              const Sabotage& sabotage, Journal* journal);

}  // namespace deltabloom::torture

#endif  // DELTABLOOM_TESTS_TORTURE_RUN_H_
