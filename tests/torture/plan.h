// What is to happen in one cycle, and how the database is opened: drawn from a
// seed, the same for the same seed.
#ifndef DELTABLOOM_TESTS_TORTURE_PLAN_H_
#define DELTABLOOM_TESTS_TORTURE_PLAN_H_

#include <rocksdb/options.h>
#include <rocksdb/table.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "tests/torture/disk.h"
#include "tests/torture/model.h"

namespace deltabloom::torture {

enum class Engine : uint8_t {
  kPlain,           // rocksdb::DB
  kWriteCommitted,  // rocksdb::TransactionDB, and its
  kWritePrepared,   // other write policy
};

// For tests: errors that the torture must find.
struct Sabotage {
  using Policy = std::shared_ptr<const rocksdb::FilterPolicy>;

  std::function<Policy(Policy)> policy;  // replaces a policy
  bool forget_syncs = false;  // what was synced is lost with the power, too
};

struct Folders {
  explicit Folders(const std::string& top);

  std::string database;
  std::string state;   // file: what the database holds
  std::string notes;   // of the disk
  std::string copies;  // checkpoints, backups, files to ingest
};

struct Plan {
  uint64_t seed = 0;
  uint64_t cycle = 0;
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
  uint64_t SeedFor(Purpose purpose, uint64_t number = 0) const;
};

Plan DrawPlan(uint64_t seed, uint64_t cycle, const Folders& folders);

struct Configuration {
  rocksdb::DBOptions db;
  rocksdb::ColumnFamilyOptions families[kSlots];
  std::string policies[kSlots];  // as text
  std::string description;       // one line per slot
};

// Throws std::runtime_error if RocksDB rejects a policy.
Configuration DrawConfiguration(uint64_t seed, const Sabotage& sabotage);

// A change of one option of a Deltabloom policy at run time, as "name=value".
std::string DrawChange(bench::MixedNumbers* numbers);

}  // namespace deltabloom::torture

#endif  // DELTABLOOM_TESTS_TORTURE_PLAN_H_
