// What is to happen in one cycle.
#ifndef DELTABLOOM_DB_BENCH_EXT_TORTURE_PLAN_H_
#define DELTABLOOM_DB_BENCH_EXT_TORTURE_PLAN_H_

#include <cstdint>
#include <string>

#include "db_bench_ext/torture/configuration.h"
#include "db_bench_ext/torture/disk.h"

namespace deltabloom::torture {

// For tests: ways to be wrong, which the torture must find.
struct Sabotage {
  PolicyHook policy;
  bool forget_syncs = false;  // what was synced is lost with the power, too
};

struct Folders {
  explicit Folders(const std::string& top);

  std::string top;
  std::string database;
  std::string state;   // file: what the database holds
  std::string notes;   // of the Disk
  std::string copies;  // checkpoints, backups, files to ingest
};

struct Plan {
  uint64_t seed = 0;
  uint64_t cycle = 0;
  Engine engine = Engine::kPlain;
  // Writes to these slots are in no log.
  bool no_log[kSlots] = {};
  bool power_loss = false;
  PowerLoss loss;
  // The process is killed after so many milliseconds, or earlier: after so
  // many acknowledged writes, or at a file operation of the Disk; or it closes
  // the database after so many writes.
  uint64_t max_millis = 0;
  uint64_t max_writes = 0;
  bool closes = false;
  DiskPlan disk;

  // One line.
  std::string Describe() const;
};

// The same for the same numbers.
Plan DrawPlan(uint64_t seed, uint64_t cycle, const Folders& folders);

// The seeds of what is drawn from a plan's.
enum class Purpose : uint64_t { kOpen, kCheck, kDamage, kAdmin, kWriter };
uint64_t SeedFor(const Plan& plan, Purpose purpose, uint64_t number = 0);

}  // namespace deltabloom::torture

#endif  // DELTABLOOM_DB_BENCH_EXT_TORTURE_PLAN_H_
