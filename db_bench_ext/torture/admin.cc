#include "db_bench_ext/torture/admin.h"

#include <rocksdb/convenience.h>
#include <rocksdb/utilities/backup_engine.h>
#include <rocksdb/utilities/checkpoint.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "db_bench_ext/torture/reader.h"

namespace deltabloom::torture {

using rocksdb::Status;

Admin::Admin(Workplace* work)
    : work_(work), numbers_(SeedFor(*work->plan, Purpose::kAdmin)) {}

void Admin::Run() {
  while (!work_->stop) {
    if (!Step()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(numbers_.Below(40)));
  }
}

bool Admin::Ok(const Status& status, const char* what) {
  if (status.ok()) return true;
  work_->Fail(std::string(what) + " fails: " + status.ToString());
  return false;
}

bool Admin::Step() {
  const auto slot = static_cast<uint32_t>(numbers_.Below(kSlots));
  if (work_->database->family(slot).handle == nullptr) {
    return RemakeFamily(slot);
  }
  const uint64_t draw = numbers_.Below(100);
  if (draw < 30) return Flush(slot);
  if (draw < 44) return Sync();
  if (draw < 56) return Compact(slot);
  if (draw < 80) return SetOptions(slot);
  // In WritePrepared RocksDB cannot recover prepared transactions on a dropped
  // column family.
  const bool may_drop =
      slot != 0 && work_->database->engine() != Engine::kWritePrepared;
  if (draw < 89) return !may_drop || RemakeFamily(slot);
  if (draw < 95) return MakeCheckpoint();
  return MakeBackup();
}

bool Admin::Flush(uint32_t slot) {
  Record* const record = work_->journal->New();
  if (record == nullptr) return false;
  record->kind = Kind::kFlush;
  record->slot = static_cast<uint8_t>(slot);
  work_->journal->Begin(record);
  const Status status = work_->database->db()->Flush(
      rocksdb::FlushOptions(), work_->database->family(slot).handle);
  if (!Ok(status, "a flush")) return false;
  work_->journal->End(record, Outcome::kDone);
  return true;
}

bool Admin::Sync() {
  Record* const record = work_->journal->New();
  if (record == nullptr) return false;
  record->kind = Kind::kSync;
  work_->journal->Begin(record);
  const Status status = numbers_.Below(2) == 0
                            ? work_->database->db()->SyncWAL()
                            : work_->database->db()->FlushWAL(true);
  if (!Ok(status, "a sync of the log")) return false;
  work_->journal->End(record, Outcome::kDone);
  return true;
}

bool Admin::Compact(uint32_t slot) {
  rocksdb::CompactRangeOptions options;
  options.exclusive_manual_compaction = false;
  if (numbers_.Below(2) == 0) {
    options.bottommost_level_compaction =
        rocksdb::BottommostLevelCompaction::kForce;
  }
  return Ok(
      work_->database->db()->CompactRange(
          options, work_->database->family(slot).handle, nullptr, nullptr),
      "a compaction");
}

bool Admin::SetOptions(uint32_t slot) {
  rocksdb::ColumnFamilyHandle* const family =
      work_->database->family(slot).handle;
  const std::string& policy = work_->database->configuration().policies[slot];
  Status status;
  // What stands in for a policy in a test has no options.
  if (numbers_.Below(4) == 0 || work_->sabotage->policy ||
      policy.find("deltabloom") == std::string::npos) {
    status = work_->database->db()->SetOptions(
        family,
        {{"write_buffer_size", std::to_string(65536 << numbers_.Below(4))}});
  } else {
    status = work_->database->db()->SetOptions(
        family, {{"block_based_table_factory",
                  "{filter_policy={" + DrawChange(&numbers_) + ";}}"}});
  }
  ++work_->journal->totals.set_options;
  return Ok(status, "SetOptions");
}

// Drops the family and makes the next one; a cycle may begin or end between.
bool Admin::RemakeFamily(uint32_t slot) {
  Family& family = work_->database->family(slot);
  const std::unique_lock<std::shared_mutex> lock(family.mutex);
  const auto change = [&](Kind kind, uint32_t generation) {
    Record* const record = work_->journal->New();
    if (record == nullptr) return false;
    record->kind = kind;
    record->slot = static_cast<uint8_t>(slot);
    record->generation = generation;
    work_->journal->Begin(record);
    const Status status = kind == Kind::kDropFamily
                              ? work_->database->DropFamily(slot)
                              : work_->database->CreateFamily(slot, generation);
    if (!Ok(status, "dropping or making a column family")) return false;
    work_->journal->End(record, Outcome::kDone);
    return true;
  };
  // Names are never used twice: their files might be.
  const uint32_t next = static_cast<uint32_t>(work_->plan->cycle) * 1000 + 1 +
                        work_->journal->size() % 1000;
  if (family.handle != nullptr) {
    if (!change(Kind::kDropFamily, family.generation)) return false;
    ++work_->journal->totals.families_dropped;
  }
  return change(Kind::kCreateFamily, next);
}

bool Admin::MakeCheckpoint() {
  const std::string path = work_->folders->copies + "/checkpoint";
  std::filesystem::remove_all(path);
  rocksdb::Checkpoint* made = nullptr;
  Status status = rocksdb::Checkpoint::Create(work_->database->db(), &made);
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
  const uint64_t from = work_->journal->Now();
  if (status.ok()) status = checkpoint->CreateCheckpoint(path);
  const uint64_t until = work_->journal->Now();
  if (!Ok(status, "a checkpoint") ||
      !CheckCopy("checkpoint", path, from, until)) {
    return false;
  }
  ++work_->journal->totals.checkpoints;
  std::filesystem::remove_all(path);
  return true;
}

bool Admin::MakeBackup() {
  const std::string path = work_->folders->copies + "/backup";
  const std::string restored = work_->folders->copies + "/restored";
  std::filesystem::remove_all(path);
  std::filesystem::remove_all(restored);
  rocksdb::BackupEngine* opened = nullptr;
  rocksdb::BackupEngineOptions options(path);
  options.sync = false;
  Status status =
      rocksdb::BackupEngine::Open(options, rocksdb::Env::Default(), &opened);
  const std::unique_ptr<rocksdb::BackupEngine> engine(opened);
  const uint64_t from = work_->journal->Now();
  if (status.ok()) {
    status = engine->CreateNewBackup(work_->database->db(), true);
  }
  const uint64_t until = work_->journal->Now();
  if (status.ok()) {
    status = engine->RestoreDBFromLatestBackup(restored, restored);
  }
  if (!Ok(status, "a backup") || !CheckCopy("backup", restored, from, until)) {
    return false;
  }
  ++work_->journal->totals.backups;
  std::filesystem::remove_all(path);
  std::filesystem::remove_all(restored);
  return true;
}

bool Admin::CheckCopy(const char* what, const std::string& path, uint64_t from,
                      uint64_t until) {
  Configuration configuration =
      DrawConfiguration(numbers_.Next(), work_->sabotage->policy);
  // Its log may have prepared transactions, which only their engine takes.
  Database copy(path, work_->database->engine(), std::move(configuration),
                nullptr);
  // Nothing of a copy may fail, whatever the Disk does to the original.
  const auto fail = [&](const std::string& problem) {
    work_->journal->Fail(std::string("a ") + what + ": " + problem);
    return false;
  };
  const Status status = copy.Open(Database::Mode::kReadWrite);
  if (!status.ok()) return fail("cannot be opened: " + status.ToString());
  const Model model(work_->before, work_->journal, Ending::kKilled, from,
                    until);
  Totals* const totals = &work_->journal->totals;
  Reader reader(&copy, totals, numbers_.Next());
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    const Family& family = copy.family(slot);
    std::string problem =
        model.JudgeSlot(slot, family.handle != nullptr, family.generation);
    if (!problem.empty()) return fail(problem);
    if (family.handle == nullptr) continue;
    std::vector<Value> values;
    std::vector<uint32_t> keys;
    problem = reader.Scan(slot, &values);
    for (uint32_t key = 0; key < kKeys && problem.empty(); ++key) {
      problem = model.Judge(slot, family.generation, key, values[key]);
      if (key % 5 == 0) keys.push_back(key);
    }
    totals->keys_checked += kKeys;
    if (problem.empty()) problem = reader.MultiGet(slot, keys, values);
    if (!problem.empty()) return fail(problem);
  }
  totals->lookups += reader.lookups();
  return true;
}

}  // namespace deltabloom::torture
