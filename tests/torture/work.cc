// The process that works on a database until it is killed, or closes it: some
// threads write, and one does what an operator does.
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/utilities/backup_engine.h>
#include <rocksdb/utilities/checkpoint.h>
#include <rocksdb/write_batch.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include "tests/torture/run.h"

namespace deltabloom::torture {

namespace {

namespace fs = std::filesystem;

using rocksdb::ColumnFamilyHandle;
using rocksdb::ReadOptions;
using rocksdb::Status;
using rocksdb::Transaction;
using rocksdb::WriteOptions;

// Ends a thread.
struct Stop {};

// What the threads share.
struct Workplace {
  const Plan* plan;
  const Folders* folders;
  const Sabotage* sabotage;
  Database* database;
  Journal* journal;
  const State* before;
  std::atomic<bool> stop{false};
  std::atomic<uint32_t> transactions{0};  // numbers in use

  // Unless OK, it is a failure, except after a file operation that failed on
  // purpose or when RocksDB complains of its own order; and the thread stops.
  void Verify(const Status& status, const char* what) {
    if (status.ok()) return;
    const std::string error =
        std::string(what) + " fails: " + status.ToString();
    if (IsMisorder(error) && !journal->write_failed.exchange(true)) {
      ++journal->totals.misorders;
    }
    if (!journal->write_failed) journal->Fail(error);
    throw Stop();
  }
  // All threads stop when the journal is full.
  Record* NewRecord(Kind kind, uint32_t slot, uint32_t generation) {
    Record* const record = journal->New();
    if (record == nullptr) {
      stop = true;
      throw Stop();
    }
    record->kind = kind;
    record->slot = static_cast<uint8_t>(slot);
    record->generation = generation;
    return record;
  }
  rocksdb::DB* db() const { return database->db.get(); }
  ColumnFamilyHandle* handle(uint32_t slot) const {
    return database->families[slot].handle;
  }
};

// A thread that writes: it owns some keys, knows what they must have, and looks
// them up between its writes.
class Writer {
 public:
  Writer(Workplace* work, uint32_t number)
      : work_(work),
        journal_(work->journal),
        number_(number),
        numbers_(work->plan->SeedFor(Plan::kWriter, number)) {
    std::copy_n(work->before->slots, kSlots, current_);
  }

  void Run() {
    while (!work_->stop) Step();
  }

 private:
  // Longer values are put anew instead of merged.
  static constexpr size_t kLongValue = 600;

  void Step() {
    slot_ = static_cast<uint32_t>(numbers_.Below(kSlots));
    Family& family = work_->database->families[slot_];
    const std::shared_lock<std::shared_mutex> lock(family.mutex);
    if (family.handle == nullptr) return;
    family_ = family.handle;
    SlotState& current = current_[slot_];
    if (!current.exists || current.generation != family.generation) {
      current = SlotState();
      current.exists = true;
      current.generation = family.generation;
    }
    synced_ = numbers_.Below(10) == 0 && !work_->plan->no_log[slot_];
    options_ = WriteOptions();
    options_.disableWAL = work_->plan->no_log[slot_];
    options_.sync = synced_;
    changes_.clear();
    const Engine engine = work_->database->engine;
    const uint64_t draw = numbers_.Below(1000);
    if (draw < 250) return LookUp();
    if (draw < 400) return WriteBatch();
    if (draw < 410 && engine == Engine::kPlain) return DeleteRange();
    if (draw < 412 && engine != Engine::kWritePrepared) return Ingest();
    if (draw < 550 && engine != Engine::kPlain) return Transact();
    return WriteOne();
  }

  uint32_t OwnKey() {
    return number_ * kKeysPerWriter +
           static_cast<uint32_t>(numbers_.Below(kKeysPerWriter));
  }
  std::string Text(uint32_t key) { return DrawKeyText(slot_, key, &numbers_); }
  Value& Current(uint32_t key) { return current_[slot_].values[key]; }

  Kind DrawKind(uint32_t key) {
    const uint64_t draw = numbers_.Below(10);
    if (draw < 2) return Kind::kDelete;
    const Value& value = Current(key);
    if (draw < 4 && (!value || value->size() < kLongValue)) return Kind::kMerge;
    return Kind::kPut;
  }

  // A record that is not begun, among the changes.
  Record* NewChange(Kind kind, uint32_t key, bool synced) {
    Record* const record =
        work_->NewRecord(kind, slot_, current_[slot_].generation);
    record->key = key;
    record->key_end = key + 1;
    record->synced = synced;
    record->no_log = options_.disableWAL;
    record->id = work_->plan->cycle * Journal::kCapacity +
                 static_cast<uint64_t>(record - &journal_->at(0));
    changes_.push_back(record);
    return record;
  }
  void Begin() {
    for (Record* const record : changes_) journal_->Begin(record);
  }
  void Verify(const Status& status, const char* what) {
    work_->Verify(status, what);
  }
  // The changes are done, if the status is OK.
  void End(const Status& status, const char* what) {
    Verify(status, what);
    for (Record* const record : changes_) {
      for (uint32_t key = record->key; key < record->key_end; ++key) {
        Current(key) = After(Current(key), *record);
      }
      journal_->End(record, Outcome::kDone);
      ++journal_->acknowledged;
      ++journal_->totals.writes_acknowledged;
    }
  }
  // They have not been done after all.
  void TakeBack() {
    for (Record* const record : changes_) {
      journal_->End(record, Outcome::kUndone);
    }
  }

  // The same call of a WriteBatch, a Transaction and, with options, a DB.
  template <typename Target, typename... Options>
  Status Apply(const Record& record, Target* target,
               const Options&... options) {
    const std::string key = Text(record.key);
    if (record.kind == Kind::kDelete) {
      return target->Delete(options..., family_, key);
    }
    const std::string value = ValueText(record.id);
    return record.kind == Kind::kPut
               ? target->Put(options..., family_, key, value)
               : target->Merge(options..., family_, key, value);
  }

  void WriteOne() {
    const uint32_t key = OwnKey();
    Record* const record = NewChange(DrawKind(key), key, synced_);
    Begin();
    End(Apply(*record, work_->db(), options_), "a write");
  }

  void WriteBatch() {
    rocksdb::WriteBatch batch;
    for (uint64_t n = 2 + numbers_.Below(12); n > 0; --n) {
      const uint32_t key = OwnKey();
      Record* const record = NewChange(DrawKind(key), key, synced_);
      Verify(Apply(*record, &batch), "filling a batch");
    }
    Begin();
    End(work_->db()->Write(options_, &batch), "a batch of writes");
  }

  void DeleteRange() {
    const uint32_t key = OwnKey();
    const uint32_t end =
        std::min(key + 1 + static_cast<uint32_t>(numbers_.Below(30)),
                 (number_ + 1) * kKeysPerWriter - 1);
    if (end <= key) return;
    Record* const record = NewChange(Kind::kDeleteRange, key, synced_);
    record->key_end = end;
    Begin();
    ++journal_->totals.range_deletes;
    End(work_->db()->DeleteRange(options_, family_, Text(key), Text(end)),
        "a range delete");
  }

  void Transact() {
    const std::unique_ptr<Transaction> transaction(
        work_->database->transactions->BeginTransaction(options_));
    const bool two_phases = numbers_.Below(2) == 0;
    const uint32_t id = two_phases ? ++work_->transactions : 0;
    for (uint64_t n = 1 + numbers_.Below(6); n > 0; --n) {
      const uint32_t key = OwnKey();
      Record* const record = NewChange(DrawKind(key), key, synced_);
      record->transaction = id;
      std::string before;
      Status status =
          transaction->GetForUpdate(ReadOptions(), family_, Text(key), &before);
      if (status.ok() || status.IsNotFound()) {
        status = Apply(*record, transaction.get());
      }
      Verify(status, "filling a transaction");
    }
    ++journal_->totals.transactions;
    if (two_phases) {
      Status status = transaction->SetName("t" + std::to_string(id));
      Begin();
      if (status.ok()) status = transaction->Prepare();
      const bool commit = numbers_.Below(5) != 0;
      if (status.ok() && !commit) status = transaction->Rollback();
      Verify(status, "a prepared transaction");
      if (!commit) return TakeBack();
    } else if (numbers_.Below(6) == 0) {
      // Nothing was begun.
      return Verify(transaction->Rollback(), "a rollback");
    } else {
      Begin();
    }
    End(transaction->Commit(), "a commit");
  }

  void Ingest() {
    const Configuration& configuration = work_->database->configuration;
    rocksdb::SstFileWriter file(
        rocksdb::EnvOptions(),
        rocksdb::Options(configuration.db, configuration.families[slot_]));
    const std::string path =
        work_->folders->copies + "/ingest" + std::to_string(number_) + ".sst";
    Status status = file.Open(path);
    const uint32_t last = (number_ + 1) * kKeysPerWriter;
    for (uint32_t key = OwnKey();
         key < last && changes_.size() < 60 && status.ok();
         key += 1 + static_cast<uint32_t>(numbers_.Below(3))) {
      const Kind kind = numbers_.Below(5) == 0 ? Kind::kDelete : Kind::kPut;
      Record* const record = NewChange(kind, key, false);
      record->stays = true;
      status = kind == Kind::kPut ? file.Put(Text(key), ValueText(record->id))
                                  : file.Delete(Text(key));
    }
    if (status.ok()) status = file.Finish();
    Verify(status, "writing a file to ingest");
    rocksdb::IngestExternalFileOptions ingestion;
    ingestion.move_files = numbers_.Below(2) == 0;
    Begin();
    status = work_->db()->IngestExternalFile(family_, {path}, ingestion);
    // RocksDB may return this when others write at the same time: nothing was
    // done.
    if (status.IsTryAgain()) return TakeBack();
    if (status.ok()) ++journal_->totals.files_ingested;
    End(status, "an ingestion");
  }

  void LookUp() {
    const uint32_t key = OwnKey();
    std::string found;
    const Status status =
        work_->db()->Get(ReadOptions(), family_, Text(key), &found);
    ++journal_->totals.lookups;
    if (!status.IsNotFound()) Verify(status, "Get while others write");
    const Value value = status.ok() ? Value(found) : std::nullopt;
    if (value == Current(key)) return;
    journal_->Fail("Get of key '" + KeyText(slot_, key) + "' of slot " +
                   std::to_string(slot_) + " finds, while others write, " +
                   DescribeValue(value) +
                   ", and its writer has the acknowledgement of " +
                   DescribeValue(Current(key)));
    throw Stop();
  }

  Workplace* const work_;
  Journal* const journal_;
  const uint32_t number_;
  bench::MixedNumbers numbers_;
  SlotState current_[kSlots];
  // Of the step.
  uint32_t slot_ = 0;
  ColumnFamilyHandle* family_ = nullptr;
  bool synced_ = false;
  WriteOptions options_;
  std::vector<Record*> changes_;
};

// The thread that does what an operator does: flushes, compactions, changed
// options, column families, checkpoints and backups.
class Admin {
 public:
  explicit Admin(Workplace* work)
      : work_(work),
        journal_(work->journal),
        numbers_(work->plan->SeedFor(Plan::kAdmin)) {}

  void Run() {
    while (!work_->stop) {
      Step();
      std::this_thread::sleep_for(
          std::chrono::milliseconds(numbers_.Below(40)));
    }
  }

 private:
  void Step() {
    const auto slot = static_cast<uint32_t>(numbers_.Below(kSlots));
    if (work_->handle(slot) == nullptr) return RemakeFamily(slot);
    const uint64_t draw = numbers_.Below(100);
    if (draw < 30) {
      return Do(Kind::kFlush, slot, 0, "a flush", [&] {
        return work_->db()->Flush(rocksdb::FlushOptions(), work_->handle(slot));
      });
    }
    if (draw < 44) {
      return Do(Kind::kSync, 0, 0, "a sync of the log", [&] {
        return numbers_.Below(2) == 0 ? work_->db()->SyncWAL()
                                      : work_->db()->FlushWAL(true);
      });
    }
    if (draw < 56) return Compact(slot);
    if (draw < 80) return SetOptions(slot);
    // In WritePrepared RocksDB cannot recover prepared transactions on a
    // dropped column family.
    const bool may_drop =
        slot != 0 && work_->database->engine != Engine::kWritePrepared;
    if (draw < 89) return may_drop ? RemakeFamily(slot) : void();
    if (draw < 95) return MakeCheckpoint();
    return MakeBackup();
  }

  // An operation with a record.
  template <typename Operation>
  void Do(Kind kind, uint32_t slot, uint32_t generation, const char* what,
          const Operation& operation) {
    Record* const record = work_->NewRecord(kind, slot, generation);
    journal_->Begin(record);
    work_->Verify(operation(), what);
    journal_->End(record, Outcome::kDone);
  }

  void Compact(uint32_t slot) {
    rocksdb::CompactRangeOptions options;
    options.exclusive_manual_compaction = false;
    if (numbers_.Below(2) == 0) {
      options.bottommost_level_compaction =
          rocksdb::BottommostLevelCompaction::kForce;
    }
    work_->Verify(work_->db()->CompactRange(options, work_->handle(slot),
                                            nullptr, nullptr),
                  "a compaction");
  }

  void SetOptions(uint32_t slot) {
    const std::string& policy = work_->database->configuration.policies[slot];
    std::pair<std::string, std::string> option = {
        "write_buffer_size", std::to_string(65536 << numbers_.Below(4))};
    // The policy of a sabotage has no options.
    if (numbers_.Below(4) != 0 && !work_->sabotage->policy &&
        policy.find("deltabloom") != std::string::npos) {
      option = {"block_based_table_factory",
                "{filter_policy={" + DrawChange(&numbers_) + ";}}"};
    }
    ++journal_->totals.set_options;
    work_->Verify(work_->db()->SetOptions(work_->handle(slot), {option}),
                  "SetOptions");
  }

  // Drops the family and creates the next one; a cycle may begin or end in
  // between.
  void RemakeFamily(uint32_t slot) {
    Family& family = work_->database->families[slot];
    const std::unique_lock<std::shared_mutex> lock(family.mutex);
    // Names are never used twice: their files might be.
    const uint32_t next = static_cast<uint32_t>(work_->plan->cycle) * 1000 + 1 +
                          journal_->size() % 1000;
    if (family.handle != nullptr) {
      Do(Kind::kDropFamily, slot, family.generation, "dropping a column family",
         [&] { return work_->database->DropFamily(slot); });
      ++journal_->totals.families_dropped;
    }
    Do(Kind::kCreateFamily, slot, next, "creating a column family",
       [&] { return work_->database->CreateFamily(slot, next); });
  }

  void MakeCheckpoint() {
    const std::string path = work_->folders->copies + "/checkpoint";
    fs::remove_all(path);
    rocksdb::Checkpoint* made = nullptr;
    Status status = rocksdb::Checkpoint::Create(work_->db(), &made);
    const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
    const uint64_t from = journal_->Now();
    if (status.ok()) status = checkpoint->CreateCheckpoint(path);
    const uint64_t until = journal_->Now();
    work_->Verify(status, "a checkpoint");
    CheckCopy("checkpoint", path, from, until);
    ++journal_->totals.checkpoints;
  }

  void MakeBackup() {
    const std::string path = work_->folders->copies + "/backup";
    const std::string restored = work_->folders->copies + "/restored";
    fs::remove_all(path);
    fs::remove_all(restored);
    rocksdb::BackupEngine* opened = nullptr;
    rocksdb::BackupEngineOptions options(path);
    options.sync = false;
    Status status =
        rocksdb::BackupEngine::Open(options, rocksdb::Env::Default(), &opened);
    const std::unique_ptr<rocksdb::BackupEngine> engine(opened);
    const uint64_t from = journal_->Now();
    if (status.ok()) status = engine->CreateNewBackup(work_->db(), true);
    const uint64_t until = journal_->Now();
    if (status.ok()) {
      status = engine->RestoreDBFromLatestBackup(restored, restored);
    }
    work_->Verify(status, "a backup");
    CheckCopy("backup", restored, from, until);
    ++journal_->totals.backups;
  }

  // Nothing of a copy may fail, whatever the disk does to the original.
  void CheckCopy(const char* what, const std::string& path, uint64_t from,
                 uint64_t until) {
    // Its log may have prepared transactions, which only their engine takes.
    Database copy(path, work_->database->engine,
                  DrawConfiguration(numbers_.Next(), *work_->sabotage),
                  nullptr);
    const Model model(work_->before, journal_, Ending::kKilled, from, until);
    Reader reader(&copy, &journal_->totals, numbers_.Next());
    try {
      const Status status = copy.Open(Database::Mode::kReadWrite);
      if (!status.ok()) throw std::runtime_error(status.ToString());
      for (uint32_t slot = 0; slot < kSlots; ++slot) {
        const SlotState state = reader.Judge(model, slot);
        if (!state.exists) continue;
        std::vector<uint32_t> keys;
        for (uint32_t key = 0; key < kKeys; key += 5) keys.push_back(key);
        reader.LookUp(slot, keys, state.values);
      }
    } catch (const std::runtime_error& error) {
      journal_->Fail(std::string("a ") + what + ": " + error.what());
      throw Stop();
    }
    journal_->totals.lookups += reader.lookups();
  }

  Workplace* const work_;
  Journal* const journal_;
  bench::MixedNumbers numbers_;
};

[[noreturn]] void WaitForDeath(Journal* journal) {
  journal->wants_to_die = true;
  while (true) pause();
}

}  // namespace

void RunWork(const Plan& plan, const Folders& folders, const Sabotage& sabotage,
             Journal* journal) {
  const State before = State::Load(folders.state);
  const std::unique_ptr<rocksdb::Env> env =
      rocksdb::NewCompositeEnv(NewDisk(plan.disk, journal));
  Database database(folders.database, plan.engine,
                    DrawConfiguration(plan.SeedFor(Plan::kOpen), sabotage),
                    env.get());
  Workplace work{&plan, &folders, &sabotage, &database, journal, &before};
  try {
    work.Verify(database.Open(Database::Mode::kReadWrite),
                "opening the database");
  } catch (const Stop&) {
    WaitForDeath(journal);
  }
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i <= kWriters; ++i) {
    threads.emplace_back([&work, i] {
      try {
        i < kWriters ? Writer(&work, i).Run() : Admin(&work).Run();
      } catch (const Stop&) {
      }
    });
  }
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::milliseconds(plan.max_millis);
  const auto enough = [&] {
    return plan.max_writes != 0 && journal->acknowledged >= plan.max_writes;
  };
  while (!work.stop && !journal->failed() && !enough() &&
         std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    database.CountFilters(&journal->totals);
  }
  // Killed where it is: its threads go on until then.
  if (!plan.closes) WaitForDeath(journal);
  work.stop = true;
  for (std::thread& thread : threads) thread.join();
  try {
    Record* const record = work.NewRecord(Kind::kClose, 0, 0);
    journal->Begin(record);
    work.Verify(database.Close(), "closing the database");
    journal->End(record, Outcome::kDone);
  } catch (const Stop&) {
  }
}

}  // namespace deltabloom::torture
