// The process that works on a database until it is killed, or closes it: some
// threads write, and one does what an operator does.
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/utilities/backup_engine.h>
#include <rocksdb/utilities/checkpoint.h>
#include <rocksdb/write_batch.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/torture/torture.h"

namespace deltabloom::torture {

namespace {

namespace fs = std::filesystem;

using rocksdb::ReadOptions;
using rocksdb::Status;

// Ends a thread.
struct Stop {};

// The state that the threads share.
struct Work {
  const Plan& plan;
  Database* const database;
  Journal* const journal;
  const State& before;
  std::atomic<bool> stop{false};
  std::atomic<uint32_t> transactions{0};  // numbers in use

  rocksdb::DB* db() const { return database->db.get(); }

  // Unless OK, it is a failure, except after a file operation that failed on
  // purpose or when RocksDB complains of its own order; and the thread stops.
  void Verify(const Status& status, const char* what) {
    if (status.ok()) return;
    const std::string error =
        std::string(what) + " fails: " + status.ToString();
    if (IsMisorder(error)) journal->write_failed = true;
    if (!journal->write_failed) journal->Fail(error);
    throw Stop();
  }

  // All threads stop when the journal is full.
  Record* NewRecord(Kind kind, uint32_t slot) {
    Record* const record = journal->New();
    if (record == nullptr) {
      stop = true;
      throw Stop();
    }
    record->kind = kind;
    record->slot = static_cast<uint8_t>(slot);
    return record;
  }

  // An operation with a record, other than a write.
  template <typename Operation>
  void Do(Kind kind, uint32_t slot, const char* what,
          const Operation& operation) {
    Record* const record = NewRecord(kind, slot);
    journal->Begin(record);
    Verify(operation(), what);
    journal->End(record, Outcome::kDone);
  }
};

// A thread that writes: it owns some keys, knows what they must have, and looks
// them up between its writes.
class Writer {
 public:
  Writer(Work* work, uint32_t number)
      : work_(work),
        journal_(work->journal),
        number_(number),
        numbers_(work->plan.SeedFor(Plan::kWriter, number)),
        current_(work->before) {}

  void Step() {
    slot_ = static_cast<uint32_t>(numbers_.Below(kSlots));
    family_ = work_->database->families[slot_].handle;
    options_.disableWAL = work_->plan.no_log[slot_];
    options_.sync = numbers_.Below(10) == 0 && !options_.disableWAL;
    changes_.clear();
    const bool transactional = work_->plan.transactional;
    const uint64_t draw = numbers_.Below(1000);
    if (draw < 250) return LookUp();
    if (draw < 400) return WriteBatch();
    if (draw < 410 && !transactional) return DeleteRange();
    if (draw < 412) return Ingest();
    if (draw < 550 && transactional) return Transact();
    const Record* const record = NewWrite();
    Begin();
    End(Apply(*record, work_->db(), options_), "a write");
  }

 private:
  // Longer values are put anew instead of merged.
  static constexpr size_t kLongValue = 600;

  uint32_t Below(uint32_t end) {
    return static_cast<uint32_t>(numbers_.Below(end));
  }
  uint32_t OwnKey() { return number_ * kKeysPerWriter + Below(kKeysPerWriter); }
  std::string Text(uint32_t key) { return DrawKeyText(slot_, key, &numbers_); }
  Value& Current(uint32_t key) { return current_.slots[slot_][key]; }

  // A record that is not begun, among the changes.
  Record* NewChange(Kind kind, uint32_t key) {
    Record* const record = work_->NewRecord(kind, slot_);
    record->key = key;
    record->key_end = key + 1;
    record->synced = options_.sync;
    record->no_log = options_.disableWAL;
    record->id = work_->plan.cycle * Journal::kCapacity +
                 static_cast<uint64_t>(record - &journal_->at(0));
    changes_.push_back(record);
    return record;
  }
  Record* NewWrite() {
    const uint32_t key = OwnKey();
    const uint32_t draw = Below(10);
    const Value& value = Current(key);
    const bool merges = draw < 4 && (!value || value->size() < kLongValue);
    return NewChange(draw < 2 ? Kind::kDelete
                     : merges ? Kind::kMerge
                              : Kind::kPut,
                     key);
  }
  void Begin() {
    for (Record* const record : changes_) journal_->Begin(record);
  }
  // The changes are done, if the status is OK.
  void End(const Status& status, const char* what) {
    work_->Verify(status, what);
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

  // Makes the same call of a WriteBatch, a Transaction and, with options, a DB.
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

  void WriteBatch() {
    rocksdb::WriteBatch batch;
    for (uint32_t n = 2 + Below(12); n > 0; --n) {
      work_->Verify(Apply(*NewWrite(), &batch), "filling a batch");
    }
    Begin();
    End(work_->db()->Write(options_, &batch), "a batch of writes");
  }

  void DeleteRange() {
    const uint32_t key = OwnKey();
    const uint32_t end =
        std::min(key + 1 + Below(30), (number_ + 1) * kKeysPerWriter - 1);
    if (end <= key) return;
    NewChange(Kind::kDeleteRange, key)->key_end = end;
    Begin();
    End(work_->db()->DeleteRange(options_, family_, Text(key), Text(end)),
        "a range delete");
  }

  void Transact() {
    const std::unique_ptr<rocksdb::Transaction> transaction(
        work_->database->transactions->BeginTransaction(options_));
    const bool two_phases = Below(2) == 0;
    const uint32_t id = two_phases ? ++work_->transactions : 0;
    for (uint32_t n = 1 + Below(6); n > 0; --n) {
      Record* const record = NewWrite();
      record->transaction = id;
      std::string before;
      Status status = transaction->GetForUpdate(ReadOptions(), family_,
                                                Text(record->key), &before);
      if (status.ok() || status.IsNotFound()) {
        status = Apply(*record, transaction.get());
      }
      work_->Verify(status, "filling a transaction");
    }
    ++journal_->totals.transactions;
    if (two_phases) {
      work_->Verify(transaction->SetName("t" + std::to_string(id)), "a name");
      Begin();
      work_->Verify(transaction->Prepare(), "preparing a transaction");
      if (Below(5) == 0) {
        work_->Verify(transaction->Rollback(), "a prepared rollback");
        return TakeBack();
      }
    } else if (Below(6) == 0) {
      // Nothing was begun.
      return work_->Verify(transaction->Rollback(), "a rollback");
    } else {
      Begin();
    }
    End(transaction->Commit(), "a commit");
  }

  void Ingest() {
    options_.sync = false;
    rocksdb::SstFileWriter file(
        rocksdb::EnvOptions(),
        rocksdb::Options(work_->database->options,
                         work_->database->families[slot_].options));
    const std::string path =
        work_->plan.copies + "/ingest" + std::to_string(number_) + ".sst";
    Status status = file.Open(path);
    const uint32_t last = (number_ + 1) * kKeysPerWriter;
    for (uint32_t key = OwnKey();
         key < last && changes_.size() < 60 && status.ok();
         key += 1 + Below(3)) {
      const Kind kind = Below(5) == 0 ? Kind::kDelete : Kind::kPut;
      Record* const record = NewChange(kind, key);
      record->stays = true;
      status = kind == Kind::kPut ? file.Put(Text(key), ValueText(record->id))
                                  : file.Delete(Text(key));
    }
    if (status.ok()) status = file.Finish();
    work_->Verify(status, "writing a file to ingest");
    rocksdb::IngestExternalFileOptions ingestion;
    ingestion.move_files = Below(2) == 0;
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
    if (!status.IsNotFound()) work_->Verify(status, "Get while others write");
    const Value value = status.ok() ? Value(found) : std::nullopt;
    if (value == Current(key)) return;
    journal_->Fail("Get of key '" + KeyText(slot_, key) + "' of slot " +
                   std::to_string(slot_) + " finds, while others write, " +
                   DescribeValue(value) +
                   ", and its writer has the acknowledgement of " +
                   DescribeValue(Current(key)));
    throw Stop();
  }

  Work* const work_;
  Journal* const journal_;
  const uint32_t number_;
  bench::MixedNumbers numbers_;
  State current_;
  // The state of the current step.
  uint32_t slot_ = 0;
  rocksdb::ColumnFamilyHandle* family_ = nullptr;
  rocksdb::WriteOptions options_;
  std::vector<Record*> changes_;
};

// The thread that does what an operator does: flushes, compactions, changed
// options, checkpoints and backups.
class Admin {
 public:
  explicit Admin(Work* work)
      : work_(work),
        journal_(work->journal),
        numbers_(work->plan.SeedFor(Plan::kAdmin)) {}

  void Step() {
    std::this_thread::sleep_for(std::chrono::milliseconds(numbers_.Below(40)));
    rocksdb::DB* const db = work_->db();
    const auto slot = static_cast<uint32_t>(numbers_.Below(kSlots));
    rocksdb::ColumnFamilyHandle* const family =
        work_->database->families[slot].handle;
    const uint64_t draw = numbers_.Below(100);
    if (draw < 30) {
      work_->Do(Kind::kFlush, slot, "a flush",
                [&] { return db->Flush(rocksdb::FlushOptions(), family); });
    } else if (draw < 44) {
      work_->Do(Kind::kSync, 0, "a sync of the log", [&] {
        return numbers_.Below(2) == 0 ? db->SyncWAL() : db->FlushWAL(true);
      });
    } else if (draw < 56) {
      rocksdb::CompactRangeOptions options;
      options.exclusive_manual_compaction = false;
      if (numbers_.Below(2) == 0) {
        options.bottommost_level_compaction =
            rocksdb::BottommostLevelCompaction::kForce;
      }
      work_->Verify(db->CompactRange(options, family, nullptr, nullptr),
                    "a compaction");
    } else if (draw < 88) {
      SetOptions(slot);
    } else {
      MakeCopy(draw < 94);
    }
  }

 private:
  void SetOptions(uint32_t slot) {
    const Family& family = work_->database->families[slot];
    std::pair<std::string, std::string> option = {
        "write_buffer_size", std::to_string(65536 << numbers_.Below(4))};
    // The policy of a sabotage has no options.
    if (numbers_.Below(4) != 0 && !work_->plan.sabotage.policy &&
        family.policy.find("deltabloom") != std::string::npos) {
      option = {"block_based_table_factory",
                "{filter_policy={" + DrawChange(&numbers_) + ";}}"};
    }
    work_->Verify(work_->db()->SetOptions(family.handle, {option}),
                  "SetOptions");
  }

  // A checkpoint or a restored backup, which is opened and checked. Nothing of
  // it may fail, whatever the disk does to the original.
  void MakeCopy(bool checkpoint) {
    const std::string backup = work_->plan.copies + "/backup";
    const std::string path = work_->plan.copies + "/copy";
    fs::remove_all(backup);
    fs::remove_all(path);
    rocksdb::Checkpoint* point = nullptr;
    rocksdb::BackupEngine* engine = nullptr;
    rocksdb::BackupEngineOptions options(backup);
    options.sync = false;
    Status status = checkpoint
                        ? rocksdb::Checkpoint::Create(work_->db(), &point)
                        : rocksdb::BackupEngine::Open(
                              options, rocksdb::Env::Default(), &engine);
    const std::unique_ptr<rocksdb::Checkpoint> point_owner(point);
    const std::unique_ptr<rocksdb::BackupEngine> engine_owner(engine);
    const char* const what = checkpoint ? "a checkpoint" : "a backup";
    work_->Verify(status, what);
    const uint64_t from = journal_->Now();
    status = checkpoint ? point->CreateCheckpoint(path)
                        : engine->CreateNewBackup(work_->db(), true);
    const uint64_t until = journal_->Now();
    if (status.ok() && !checkpoint) {
      status = engine->RestoreDBFromLatestBackup(path, path);
    }
    work_->Verify(status, what);
    // Its log may have prepared transactions.
    Database copy(path, work_->plan.transactional, numbers_.Next(),
                  work_->plan.sabotage, nullptr, &journal_->totals);
    const Model model(&work_->before, journal_, Ending::kKilled, from, until);
    try {
      status = copy.Open();
      if (!status.ok()) throw std::runtime_error(status.ToString());
      for (uint32_t slot = 0; slot < kSlots; ++slot) {
        const Values values = copy.Judge(model, slot);
        std::vector<uint32_t> keys;
        for (uint32_t key = 0; key < kKeys; key += 5) keys.push_back(key);
        copy.LookUp(slot, keys, values);
      }
    } catch (const std::runtime_error& error) {
      journal_->Fail(std::string(what) + ": " + error.what());
      throw Stop();
    }
    journal_->totals.lookups += copy.lookups;
    ++(checkpoint ? journal_->totals.checkpoints : journal_->totals.backups);
  }

  Work* const work_;
  Journal* const journal_;
  bench::MixedNumbers numbers_;
};

}  // namespace

void RunWork(const Plan& plan, Journal* journal) {
  const State before = State::Load(plan.state);
  const std::unique_ptr<rocksdb::Env> env = NewDisk(plan.disk, journal);
  Database database(plan.disk.database, plan.transactional,
                    plan.SeedFor(Plan::kOpen), plan.sabotage, env.get(),
                    &journal->totals);
  Work work{plan, &database, journal, before};
  const auto until_stop = [&](const auto& body) {
    try {
      body();
      return true;
    } catch (const Stop&) {
      return false;
    }
  };
  const auto run = [&](auto worker) {
    until_stop([&] {
      while (!work.stop) worker.Step();
    });
  };
  const bool opened =
      until_stop([&] { work.Verify(database.Open(), "opening the database"); });
  std::vector<std::thread> threads;
  for (uint32_t i = 0; opened && i <= kWriters; ++i) {
    threads.emplace_back(
        [&, i] { i < kWriters ? run(Writer(&work, i)) : run(Admin(&work)); });
  }
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::milliseconds(plan.max_millis);
  const auto enough = [&] {
    return plan.max_writes != 0 && journal->acknowledged >= plan.max_writes;
  };
  while (opened && !work.stop && !journal->failed() && !enough() &&
         std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    database.CountFilters();
  }
  // Killed where it is: its threads go on until then.
  if (!plan.closes || !opened) {
    journal->wants_to_die = true;
    while (true) pause();
  }
  work.stop = true;
  for (std::thread& thread : threads) thread.join();
  until_stop([&] {
    work.Do(Kind::kClose, 0, "closing the database",
            [&] { return database.Close(); });
  });
}

}  // namespace deltabloom::torture
