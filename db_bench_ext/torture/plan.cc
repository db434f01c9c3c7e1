#include "db_bench_ext/torture/plan.h"

#include <rocksdb/version.h>

namespace deltabloom::torture {

namespace {

// A compaction releases a snapshot under the mutex that this takes, and waits
// for itself: seen in 9.10, not in 9.6, mended by facebook/rocksdb#13632.
constexpr int kVersion = ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR;
constexpr bool kWritePreparedHangs = kVersion >= 907 && kVersion < 1005;

}  // namespace

Folders::Folders(const std::string& folder)
    : top(folder),
      database(folder + "/database"),
      state(folder + "/state"),
      notes(folder + "/notes"),
      copies(folder + "/copies") {}

Plan DrawPlan(uint64_t seed, uint64_t cycle, const Folders& folders) {
  Plan plan;
  plan.seed = bench::Mix(seed + bench::Mix(cycle));
  plan.cycle = cycle;
  bench::MixedNumbers numbers(plan.seed);
  plan.engine = static_cast<Engine>(numbers.Below(3));
  if (kWritePreparedHangs && plan.engine == Engine::kWritePrepared) {
    plan.engine = Engine::kWriteCommitted;
  }
  plan.power_loss = numbers.Below(3) == 0;
  if (numbers.Below(2) == 0) {
    plan.loss.log_tail_kept = static_cast<double>(numbers.Below(1000)) / 1000;
  }
  // Prepared transactions need the log.
  if (plan.engine == Engine::kPlain && numbers.Below(3) == 0) {
    for (bool& no_log : plan.no_log) no_log = numbers.Below(2) == 0;
  }
  plan.disk.database = folders.database;
  plan.disk.notes = folders.notes;
  plan.max_millis = 150 + numbers.Below(1000);
  switch (numbers.Below(8)) {
    case 0:
      plan.closes = true;
      plan.max_writes = 200 + numbers.Below(4000);
      plan.max_millis = 60'000;
      break;
    case 1:
    case 2:
    case 3:
      plan.disk.stop_at = 1 + numbers.Below(3000);
      break;
    case 4:
      plan.disk.fail_at = 1 + numbers.Below(1500);
      plan.disk.failures = 1 + numbers.Below(3);
      break;
    case 5:
      plan.max_writes = 1 + numbers.Below(5000);
      break;
    default:
      break;
  }
  return plan;
}

std::string Plan::Describe() const {
  std::string text = EngineName(engine);
  if (no_log[0] || no_log[1] || no_log[2] || no_log[3]) {
    text += ", slots without log:";
    for (uint32_t slot = 0; slot < kSlots; ++slot) {
      if (no_log[slot]) text += " " + std::to_string(slot);
    }
  }
  if (closes) {
    text += ", closed after " + std::to_string(max_writes) + " writes";
  } else {
    text += ", killed after " + std::to_string(max_millis) + " ms";
    if (max_writes != 0)
      text += " or " + std::to_string(max_writes) + " writes";
    if (disk.stop_at != 0) {
      text += " or in file operation " + std::to_string(disk.stop_at);
    }
  }
  if (disk.fail_at != 0) {
    text += ", file operation " + std::to_string(disk.fail_at) + " fails";
  }
  if (power_loss) text += ", then power is lost";
  return text;
}

uint64_t SeedFor(const Plan& plan, Purpose purpose, uint64_t number) {
  return bench::Mix(plan.seed + (static_cast<uint64_t>(purpose) << 32) +
                    number + 1);
}

}  // namespace deltabloom::torture
