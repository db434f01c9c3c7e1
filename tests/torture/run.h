// Cycle after cycle: a process works on a database and is killed, another one
// judges what is left.
#ifndef DELTABLOOM_TESTS_TORTURE_RUN_H_
#define DELTABLOOM_TESTS_TORTURE_RUN_H_

#include <cstdint>
#include <functional>
#include <string>

#include "tests/torture/database.h"
#include "tests/torture/disk.h"
#include "tests/torture/model.h"

namespace deltabloom::torture {

struct RunOptions {
  uint64_t seed = 1;
  uint64_t first = 0;  // cycle
  uint64_t cycles = 20;
  uint64_t timeout_seconds = 900;  // a process that takes longer is a failure
  std::string folder;              // must exist; is emptied
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

// What is to happen in one cycle: drawn from a seed, the same for the same
// seed.
struct Plan {
  uint64_t seed = 0;
  uint64_t cycle = 0;
  std::string state;   // file: what the database holds
  std::string copies;  // folder of checkpoints, backups, files to ingest
  Sabotage sabotage;
  Engine engine = Engine::kPlain;
  bool no_log[kSlots] = {};  // writes to these slots are in no log
  bool power_loss = false;
  PowerLoss loss;
  // The process is killed after this time, or earlier: after a number of
  // acknowledged writes, or at a file operation of the disk; or it closes the
  // database after that number of writes.
  uint64_t max_millis = 0;
  uint64_t max_writes = 0;
  bool closes = false;
  DiskPlan disk;

  // One line.
  std::string Describe() const;
  // The seed for one purpose.
  enum Purpose : uint64_t { kOpen, kCheck, kDamage, kAdmin, kWriter };
  uint64_t SeedFor(Purpose purpose, uint64_t number = 0) const {
    return bench::Mix(seed + (uint64_t{purpose} << 32) + number + 1);
  }
};

Plan DrawPlan(const RunOptions& options, uint64_t cycle);

// The processes of a cycle. Their failures are in the journal, or thrown.

// Writes until it is killed, or closes the database.
void RunWork(const Plan& plan, Journal* journal);

// Opens the database afterwards and judges it. Leaves it closed, everything in
// its tables, and the new state in its file, unless it had to be abandoned.
void RunCheck(const Plan& plan, Journal* journal);

}  // namespace deltabloom::torture

#endif  // DELTABLOOM_TESTS_TORTURE_RUN_H_
