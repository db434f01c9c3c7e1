// What a database of the torture must hold: keys and values computed from
// numbers, a journal of what was done, and a model that judges by both.
#ifndef DELTABLOOM_TESTS_TORTURE_MODEL_H_
#define DELTABLOOM_TESTS_TORTURE_MODEL_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db_bench_ext/common/mixing.h"

namespace deltabloom::torture {

// Column families come and go; a slot is the place of one. Slot 0 is the
// default family, which cannot be dropped.
inline constexpr uint32_t kSlots = 4;
inline constexpr uint32_t kUniversalSlot = 2;  // universal compaction
// A comparator that ignores case: its filters need a key transform.
inline constexpr uint32_t kFoldedSlot = 3;
// Every writer owns a range of the keys of each slot.
inline constexpr uint32_t kWriters = 3;
inline constexpr uint32_t kKeysPerWriter = 800;
inline constexpr uint32_t kKeys = kWriters * kKeysPerWriter;
// Keys of one group share kPrefixSize bytes.
inline constexpr uint32_t kKeysPerGroup = 10;
inline constexpr size_t kPrefixSize = 6;

// The name of a column family in a slot, and whether a name is one.
std::string FamilyName(uint32_t slot, uint32_t generation);
bool ParseFamilyName(const std::string& name, uint32_t* slot,
                     uint32_t* generation);

std::string Lower(std::string_view text);

// Key number `key` of a slot, in lower case; in the order of the numbers.
std::string KeyText(uint32_t slot, uint32_t key);
// The same, some letters in upper case where the comparator ignores case.
std::string DrawKeyText(uint32_t slot, uint32_t key,
                        bench::MixedNumbers* numbers);
// A key that is never written, directly after that of `key`.
std::string AbsentKeyText(uint32_t slot, uint32_t key);
// False for bytes that are no key of the slot.
bool ParseKey(uint32_t slot, const std::string& text, uint32_t* key);

using Value = std::optional<std::string>;

// What write number `id` stores.
std::string ValueText(uint64_t id);
// The result of merging `operand` into `value`.
std::string Merged(const Value& value, std::string_view operand);
// For reports: the numbers of the writes a value is made of.
std::string DescribeValue(const Value& value);

// Counts of a run. Name in the code and in JSON, text of the summary.
#define DELTABLOOM_TORTURE_COUNTS(X)                                        \
  X(cycles, "cycles")                                                       \
  X(kills, "processes killed by SIGKILL")                                   \
  X(kills_in_file_system, "of them in the midst of a file operation")       \
  X(aborts, "processes that RocksDB ended after a failed write")            \
  X(abandoned, "databases that RocksDB refused for its order of level 0")   \
  X(closes, "databases closed instead")                                     \
  X(power_losses, "power losses")                                           \
  X(files_cut, "files that lost unsynced bytes or their name")              \
  X(writes_acknowledged, "writes acknowledged")                             \
  X(writes_in_flight, "writes in flight at a kill")                         \
  X(transactions, "transactions committed or rolled back")                  \
  X(transactions_recovered, "prepared transactions recovered")              \
  X(files_ingested, "files ingested")                                       \
  X(range_deletes, "range deletes")                                         \
  X(families_dropped, "column families dropped")                            \
  X(checkpoints, "checkpoints checked")                                     \
  X(backups, "backups restored and checked")                                \
  X(set_options, "changes by SetOptions")                                   \
  X(keys_checked, "keys checked against the model")                         \
  X(lookups, "lookups of these and of absent keys")                         \
  X(entries_iterated, "entries iterated and compared")                      \
  X(bit_flips, "bit flips in filter and index blocks")                      \
  X(bit_flips_reported, "of them reported as corruption")                   \
  X(read_errors, "reads of filter and index blocks that failed")            \
  X(write_errors, "file writes that failed")                                \
  X(lookups_under_damage, "lookups under a bit flip or failed read")        \
  X(errors_under_damage, "of them answered by an error")                    \
  X(filters_consulted, "filters consulted for a key or prefix")             \
  X(filters_useful, "of them answered that it is absent")                   \
  X(filters_of_deltabloom, "tables with a filter of Deltabloom, at checks") \
  X(filters_of_rocksdb, "tables with one of RocksDB, at checks")            \
  X(failures, "failures")

// In memory shared by processes.
struct Totals {
#define DELTABLOOM_TORTURE_MEMBER(name, text) std::atomic<uint64_t> name{0};
  DELTABLOOM_TORTURE_COUNTS(DELTABLOOM_TORTURE_MEMBER)
#undef DELTABLOOM_TORTURE_MEMBER

  // Calls f(name, text, &count) for each.
  template <typename F>
  void ForEach(const F& f) {
#define DELTABLOOM_TORTURE_CALL(name, text) f(#name, text, &name);
    DELTABLOOM_TORTURE_COUNTS(DELTABLOOM_TORTURE_CALL)
#undef DELTABLOOM_TORTURE_CALL
  }
};

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
  kUndone,   // rolled back
};

struct Record {
  // Set after the other fields; 0 until the operation has begun.
  std::atomic<uint64_t> begin{0};
  // When the outcome was known; 0 before.
  std::atomic<uint64_t> end{0};
  std::atomic<Outcome> outcome{Outcome::kUnknown};
  Kind kind = Kind::kPut;
  bool synced = false;  // once done, it and every earlier write are durable
  bool no_log = false;  // not in the write-ahead log
  bool stays = false;   // once done, it is on disk: an ingested file
  uint8_t slot = 0;
  uint32_t generation = 0;
  uint32_t key = 0;
  uint32_t key_end = 0;
  uint32_t transaction = 0;  // number of the prepared one it is part of
  uint64_t id = 0;           // of the value
};

// What one cycle was about to do and has done, in memory that outlives the
// process: the acknowledgements of a process that is killed.
class Journal {
 public:
  static constexpr uint32_t kCapacity = 1 << 16;

  // In memory shared with child processes; throws std::runtime_error.
  static Journal* Create();

  // Clears everything except the totals.
  void Clear();

  // A record that is not begun; null when the journal is full.
  Record* New();
  void Begin(Record* record) { record->begin = Now(); }
  void End(Record* record, Outcome outcome);

  uint32_t size() const;
  Record& at(uint32_t i) { return records_[i]; }
  const Record& at(uint32_t i) const { return records_[i]; }
  uint64_t Now() { return ++clock_; }

  // Keeps the first failure. Thread-safe.
  void Fail(const std::string& what);
  bool failed() const { return failed_; }
  std::string failure() const { return failure_; }

  // What the checking process is doing, in case it hangs. From one thread.
  void SetStep(const std::string& step);
  std::string step() const { return step_; }

  // The process cannot go on where it is to be killed: kill it now.
  std::atomic<bool> wants_to_die{false};
  // A file operation has failed on purpose.
  std::atomic<bool> write_failed{false};
  // RocksDB refuses the database for an order of level 0 that is its own
  // doing: it cannot be judged, and the next cycle begins another.
  std::atomic<bool> abandoned{false};
  std::atomic<uint64_t> acknowledged{0};  // writes of this cycle

  Totals totals;

 private:
  std::atomic<uint64_t> clock_{0};
  std::atomic<uint32_t> size_{0};
  std::atomic<bool> failing_{false};
  std::atomic<bool> failed_{false};
  char failure_[8192] = {};
  char step_[256] = {};
  Record records_[kCapacity];
};

// What a slot holds: the value of each key of its column family, if it has one.
struct SlotState {
  bool exists = false;
  uint32_t generation = 0;
  std::vector<Value> values = std::vector<Value>(kKeys);

  Value ValueOf(uint32_t of_generation, uint32_t key) const {
    const bool same = exists && generation == of_generation;
    return same ? values[key] : std::nullopt;
  }
};

// What a database holds.
struct State {
  SlotState slots[kSlots];

  // Throw std::runtime_error.
  void Save(const std::string& path) const;
  static State Load(const std::string& path);
};

// The value after a write to a key that had `before`.
Value After(const Value& before, const Record& record);

// How the process, or the copy, that is judged ended.
enum class Ending : uint8_t {
  kKilled,     // what was written to files is there
  kPowerLost,  // what was synced is there
};

class Model {
 public:
  // `from` and `until` are times of the journal, for a copy made between them:
  // it has what was done before the first, and nothing begun after the second.
  Model(const State* before, const Journal* journal, Ending ending,
        uint64_t from = UINT64_MAX, uint64_t until = UINT64_MAX);

  // Empty if the slot may be as it is, else what is wrong.
  std::string JudgeSlot(uint32_t slot, bool exists, uint32_t generation) const;

  // Empty if the key of that generation may have that value; else what is
  // wrong, the values it may have, and the records that say so.
  std::string Judge(uint32_t slot, uint32_t generation, uint32_t key,
                    const Value& found) const;

  // Whether the prepared transaction must have been committed.
  bool MustBeCommitted(uint32_t transaction) const;

 private:
  bool MustBeThere(const Record& record) const;
  std::vector<Value> MayHave(uint32_t slot, uint32_t generation, uint32_t key,
                             std::string* story) const;

  const State* const before_;
  const Journal* const journal_;
  const Ending ending_;
  const uint64_t from_;
  const uint64_t until_;
  std::vector<const Record*> writes_[kSlots][kKeys];
  uint64_t last_sync_ = 0;  // begin of the last acknowledged
  uint64_t last_flush_[kSlots] = {};
  uint64_t last_close_ = 0;
};

}  // namespace deltabloom::torture

#endif  // DELTABLOOM_TESTS_TORTURE_MODEL_H_
