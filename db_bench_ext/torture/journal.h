// What the working process was about to do and what it has done, in memory
// that outlives it: the acknowledgements of a process that is killed.
#ifndef DELTABLOOM_DB_BENCH_EXT_TORTURE_JOURNAL_H_
#define DELTABLOOM_DB_BENCH_EXT_TORTURE_JOURNAL_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "db_bench_ext/torture/totals.h"

namespace deltabloom::torture {

enum class Kind : uint8_t {
  kPut,
  kDelete,
  kMerge,
  kDeleteRange,   // keys [key, key_end)
  kFlush,         // of the slot
  kSync,          // of the write-ahead log
  kClose,         // of the database
  kDropFamily,    // slot, generation
  kCreateFamily,  // slot, generation
};

enum class Outcome : uint8_t {
  kUnknown,  // begun, and perhaps done
  kDone,     // acknowledged
  kUndone,   // taken back: a rollback
};

struct Record {
  // Set last, when the other fields are: 0 as long as nothing has begun.
  std::atomic<uint64_t> begin{0};
  // When the outcome was known; 0 before.
  std::atomic<uint64_t> end{0};
  std::atomic<Outcome> outcome{Outcome::kUnknown};
  Kind kind = Kind::kPut;
  bool synced = false;  // once done, so are it and every write done before
  bool no_log = false;  // not in the write-ahead log
  bool stays = false;   // once done, it is on disk: an ingested file
  uint8_t slot = 0;
  uint32_t generation = 0;
  uint32_t key = 0;
  uint32_t key_end = 0;
  uint32_t transaction = 0;  // number of the prepared one it is part of
  uint64_t id = 0;           // of the value
};

// One cycle's, in memory shared by the processes of the run.
class Journal {
 public:
  static constexpr uint32_t kCapacity = 1 << 16;

  // Maps it; throws std::runtime_error.
  static Journal* Create();

  // Forgets everything but the totals.
  void Clear();

  // A record that is not begun; null when the journal is full.
  Record* New();
  void Begin(Record* record);
  void End(Record* record, Outcome outcome);

  uint32_t size() const;
  Record& at(uint32_t i) { return records_[i]; }
  const Record& at(uint32_t i) const { return records_[i]; }
  uint64_t Now() { return ++clock_; }

  // The first failure stays. Thread-safe.
  void Fail(const std::string& what);
  bool failed() const { return failed_; }
  std::string failure() const { return failure_; }

  // What the checking process is at, should it never come back. By one thread.
  void Begin(const std::string& step);
  std::string step() const { return step_; }

  // The working process cannot go on where it shall be killed: do it.
  std::atomic<bool> wants_to_die{false};
  // A file operation has failed, on purpose.
  std::atomic<bool> write_failed{false};
  // RocksDB refuses the database for an order that is its own doing: nobody can
  // judge it, and the next cycle begins another.
  std::atomic<bool> abandoned{false};
  // Writes acknowledged in this cycle.
  std::atomic<uint64_t> acknowledged{0};

  Totals totals;

 private:
  Journal() = default;

  std::atomic<uint64_t> clock_{0};
  std::atomic<uint32_t> size_{0};
  std::atomic<bool> failing_{false};
  std::atomic<bool> failed_{false};
  char failure_[8192] = {};
  char step_[256] = {};
  Record records_[kCapacity];
};

}  // namespace deltabloom::torture

#endif  // DELTABLOOM_DB_BENCH_EXT_TORTURE_JOURNAL_H_
