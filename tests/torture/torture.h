// The torture of a RocksDB with Deltabloom's filters. In each cycle a process
// works on a database until it is killed, and another one compares what is left
// with a model, made from a journal of what was done.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/utilities/transaction_db.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db_bench_ext/common/mixing.h"
#include "deltabloom/rocksdb_ranges.h"

namespace deltabloom::torture {

// --- Keys, values and the model: model.cc ----------------------------------

// The column families, by number.
inline constexpr uint32_t kSlots = 4;
inline constexpr const char* kFamilies[kSlots] = {"default", "second",
                                                  "universal", "folded"};
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

std::string Lower(std::string_view text);

// Key number `key` of a slot, in lower case; in the order of the numbers.
std::string KeyText(uint32_t slot, uint32_t key);
// The text of KeyText, with some letters in upper case where the comparator
// ignores case.
std::string DrawKeyText(uint32_t slot, uint32_t key,
                        bench::MixedNumbers* numbers);
// A key that is never written, directly after that of `key`.
std::string AbsentKeyText(uint32_t slot, uint32_t key);
// False for bytes that are no key of the slot.
bool ParseKey(uint32_t slot, const std::string& text, uint32_t* key);

using Value = std::optional<std::string>;

// Returns the value that write number `id` stores.
std::string ValueText(uint64_t id);
// The result of merging `operand` into `value`.
std::string Merged(const Value& value, std::string_view operand);
// Returns the numbers of the writes that a value is made of, for reports.
std::string DescribeValue(const Value& value);

// Counts of a run: name in the code, text of the summary.
#define DELTABLOOM_TORTURE_COUNTS(X)                                      \
  X(cycles, "cycles")                                                     \
  X(kills, "processes killed by SIGKILL")                                 \
  X(abandoned, "databases that RocksDB refused for its order of level 0") \
  X(power_losses, "power losses")                                         \
  X(writes_acknowledged, "writes acknowledged")                           \
  X(writes_in_flight, "writes in flight at a kill")                       \
  X(transactions, "transactions committed or rolled back")                \
  X(transactions_recovered, "prepared transactions recovered")            \
  X(files_ingested, "files ingested")                                     \
  X(checkpoints, "checkpoints checked")                                   \
  X(backups, "backups restored and checked")                              \
  X(lookups, "lookups of these and of absent keys")                       \
  X(bit_flips, "bit flips in filter and index blocks")                    \
  X(bit_flips_reported, "of them reported as corruption")                 \
  X(read_errors, "reads of filter and index blocks that failed")          \
  X(write_errors, "file writes that failed")                              \
  X(lookups_under_damage, "lookups under a bit flip or failed read")      \
  X(errors_under_damage, "of them answered by an error")                  \
  X(filters_consulted, "filters consulted for a key or prefix")           \
  X(filters_useful, "of them answered that it is absent")                 \
  X(range_scans, "scans with range filters")                              \
  X(range_tables, "tables that they asked for")                           \
  X(range_tables_rejected, "of them skipped")                             \
  X(failures, "failures")

// Counts in memory that processes share.
struct Totals {
#define DELTABLOOM_TORTURE_MEMBER(name, text) std::atomic<uint64_t> name{0};
  DELTABLOOM_TORTURE_COUNTS(DELTABLOOM_TORTURE_MEMBER)

  // Calls f(text, &count) for each.
  template <typename F>
  void ForEach(const F& f) {
#define DELTABLOOM_TORTURE_CALL(name, text) f(text, &name);
    DELTABLOOM_TORTURE_COUNTS(DELTABLOOM_TORTURE_CALL)
  }
};

enum class Kind : uint8_t {
  kPut,
  kDelete,
  kMerge,
  kDeleteRange,  // keys [key, key_end)
  kFlush,        // of the slot
  kSync,         // of the write-ahead log
  kClose,        // of the database
};

enum class Outcome : uint8_t {
  kUnknown,  // begun, and perhaps done
  kDone,     // acknowledged
  kUndone,   // rolled back
};

struct Record {
  // Set after the other fields; 0 until the operation has begun.
  std::atomic<uint64_t> begin{0};
  // The time at which the outcome was known; 0 before.
  std::atomic<uint64_t> end{0};
  std::atomic<Outcome> outcome{Outcome::kUnknown};
  Kind kind = Kind::kPut;
  bool synced = false;  // once done, it and every earlier write are durable
  bool no_log = false;  // not in the write-ahead log
  bool stays = false;   // once done, it is on disk: an ingested file
  uint8_t slot = 0;
  uint32_t key = 0;
  uint32_t key_end = 0;
  uint32_t transaction = 0;  // number of the prepared one it is part of
  uint64_t id = 0;           // of the value
};

// The record of what one cycle was about to do and has done. It is in memory
// that outlives the process, so it has the acknowledgements of a process that
// is killed.
class Journal {
 public:
  static constexpr uint32_t kCapacity = 1 << 16;

  // Makes a journal in memory that child processes share. Throws
  // std::runtime_error.
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

  // Names the step of the checking process, in case it hangs. One thread calls
  // this.
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

// The value of each key of a slot.
using Values = std::vector<Value>;

// The expected content of a database.
struct State {
  State() { slots.fill(Values(kKeys)); }

  std::array<Values, kSlots> slots;

  // Throw std::runtime_error.
  void Save(const std::string& path) const;
  static State Load(const std::string& path);
};

// The value after a write to a key that had `before`.
Value After(const Value& before, const Record& record);

// The end of the process, or of the copy, that is judged.
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

  // Empty if the key may have that value; else what is wrong, the values it may
  // have, and the writes to it.
  std::string Judge(uint32_t slot, uint32_t key, const Value& found) const;

  // Returns whether the prepared transaction must have been committed.
  bool MustBeCommitted(uint32_t transaction) const;

 private:
  bool MustBeThere(const Record& record) const;

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

// --- The disk: disk.cc -----------------------------------------------------

// RocksDB's FaultInjectionTestFS is not in its shared library. As there, bytes
// after the last sync of a file are lost with the power, and files made since
// the last sync of their folder. A rename or deletion is never lost.

// Damage that reads of one file return instead of its content.
struct Fault {
  std::string file;     // without its folder
  std::string block;    // what the damage is in
  uint64_t offset = 0;  // of the byte, or of the bytes that cannot be read
  uint64_t size = 1;
  int bit = -1;  // to be flipped; -1: the bytes cannot be read

  std::string Describe() const;
};

struct DiskPlan {
  std::string database;  // the folder whose files are watched; empty: none
  std::string notes;     // the folder for what LosePower() needs
  // All operations stop forever at this operation that changes a file, and
  // journal->wants_to_die is set; 0: none.
  uint64_t stop_at = 0;
  // The first operation that fails, and how many do; 0: none.
  uint64_t fail_at = 0;
  uint64_t failures = 0;
  Fault fault;
  bool forget_syncs = false;  // of logs: a broken disk
};

// Notes what is synced, and fails or stops as planned.
std::unique_ptr<rocksdb::Env> NewDisk(const DiskPlan& plan, Journal* journal);

// Applies the loss of power to the files, once their process is dead. Throws
// std::filesystem::filesystem_error.
void LosePower(const DiskPlan& plan);

// --- The database and its options: database.cc -----------------------------

// Planted errors, which the torture must find.
struct Sabotage {
  using Policy = std::shared_ptr<const rocksdb::FilterPolicy>;

  std::function<Policy(Policy)> policy;  // replaces a policy
  bool forget_syncs = false;  // what was synced is lost with the power, too
};

// A change of one option of a Deltabloom policy at run time, as "name=value".
std::string DrawChange(bench::MixedNumbers* numbers);

// Returns whether RocksDB complains of its own order of level 0. Before 7.10 it
// may compact ingested files there into one whose sequence numbers lie within
// those of another. When it notices, it rejects further writes, or does not
// open the database again (facebook/rocksdb#10922).
bool IsMisorder(const std::string& error);

// The column family of a slot.
struct Family {
  rocksdb::ColumnFamilyHandle* handle = nullptr;
  rocksdb::ColumnFamilyOptions options;
  std::string policy;  // as text
  std::shared_ptr<RocksDBRanges> ranges;
  RocksDBRangeStatistics counted;  // of them, so far
};

// A RocksDB, and what reads it in every way that filters take part in. The
// functions that compare throw std::runtime_error, which says what is wrong.
class Database {
 public:
  // Draws all options. `env` may be null and must outlive it. Throws
  // std::runtime_error if RocksDB rejects the options. With `errors_allowed`,
  // an answer may be an error, but never "not found" for a key that is there.
  Database(std::string path, bool transactional, uint64_t seed,
           const Sabotage& sabotage, rocksdb::Env* env, Totals* totals,
           bool errors_allowed = false);
  ~Database() { static_cast<void>(Close()); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  rocksdb::Status Open(bool read_only = false);
  rocksdb::Status Close();

  // Counts what filters did since the last call.
  void CountFilters();

  // Compares a slot, by an iterator, which consults no filter, with the model.
  // Returns what it holds.
  Values Judge(const Model& model, uint32_t slot);

  // The keys by Get and by MultiGet, and some absent ones; each must have the
  // value that `values` has for its number.
  void LookUp(uint32_t slot, const std::vector<uint32_t>& keys,
              const Values& values);

  // The group of the key, by an iterator that may consult filters for its
  // prefix; and a range from the key on that it may consult them for, and that
  // scans with range filters pass in both directions.
  void Iterate(uint32_t slot, uint32_t key, const Values& values);

  const std::string path;
  const bool transactional;  // a TransactionDB
  rocksdb::DBOptions options;
  std::string description;  // of the options: one line per slot
  std::unique_ptr<rocksdb::DB> db;
  rocksdb::TransactionDB* transactions = nullptr;  // null unless transactional
  Family families[kSlots];
  uint64_t lookups = 0;
  uint64_t errors = 0;  // answers that were errors

 private:
  void Compare(const char* by, uint32_t slot, const std::string& key,
               const rocksdb::Status& status, const std::string& found,
               const Value& expected);
  void Walk(uint32_t slot, const rocksdb::ReadOptions& options,
            const std::string& start, uint32_t begin, uint32_t end,
            const Values& values);
  // The keys of [lower, upper) by a scan with range filters, in both
  // directions.
  void Scan(uint32_t slot, const std::string& lower, const std::string& upper,
            uint32_t begin, uint32_t end, const Values& values);
  // An answer that is an error.
  void CountError(const std::string& what, const rocksdb::Status& status);
  std::unique_ptr<rocksdb::Iterator> NewIterator(
      uint32_t slot, const rocksdb::ReadOptions& options);

  Totals* const totals_;
  bench::MixedNumbers numbers_;
  const bool errors_allowed_;
};

// --- Cycles: run.cc, work.cc, check.cc -------------------------------------

struct RunOptions {
  uint64_t seed = 1;
  uint64_t first = 0;  // cycle
  uint64_t cycles = 20;
  uint64_t timeout_seconds = 900;  // a process that takes longer is a failure
  std::string folder;              // must exist; is emptied
  Sabotage sabotage;
  // Called before each cycle, with its number and what it will do.
  std::function<void(uint64_t, const std::string&)> before_cycle;
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

// The actions of one cycle, drawn from a seed: the same seed gives the same
// plan.
struct Plan {
  uint64_t seed = 0;
  uint64_t cycle = 0;
  std::string state;   // file: what the database holds
  std::string copies;  // folder of checkpoints, backups, files to ingest
  Sabotage sabotage;
  bool transactional = false;
  bool no_log[kSlots] = {};  // writes to these slots are in no log
  bool power_loss = false;
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
