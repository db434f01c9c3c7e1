#include "db_bench_ext/torture/writer.h"

#include <rocksdb/sst_file_writer.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <shared_mutex>

namespace deltabloom::torture {

using rocksdb::ReadOptions;
using rocksdb::Status;
using rocksdb::Transaction;
using rocksdb::WriteOptions;

namespace {

// Longer ones are put anew instead of merged.
constexpr size_t kLongValue = 600;

// The same call of a WriteBatch and of a Transaction.
template <typename Target>
Status Apply(const Record& record, rocksdb::ColumnFamilyHandle* family,
             const std::string& key, Target* target) {
  switch (record.kind) {
    case Kind::kPut:
      return target->Put(family, key, ValueText(record.id));
    case Kind::kMerge:
      return target->Merge(family, key, ValueText(record.id));
    default:
      return target->Delete(family, key);
  }
}

}  // namespace

void Workplace::Fail(const std::string& what) {
  if (TellsOfMisorder(what) && !journal->write_failed.exchange(true)) {
    ++journal->totals.misorders;
  }
  // Errors follow from one that was made on purpose, or is RocksDB's own.
  if (!journal->write_failed) journal->Fail(what);
}

Writer::Writer(Workplace* work, uint32_t number)
    : work_(work),
      number_(number),
      numbers_(SeedFor(*work->plan, Purpose::kWriter, number)) {
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    current_[slot] = work->before->slots[slot];
  }
}

void Writer::Run() {
  while (!work_->stop) {
    if (!Step()) return;
  }
}

bool Writer::Step() {
  const auto slot = static_cast<uint32_t>(numbers_.Below(kSlots));
  Family& family = work_->database->family(slot);
  std::shared_lock<std::shared_mutex> lock(family.mutex);
  if (family.handle == nullptr) return true;
  Adopt(slot);
  const Engine engine = work_->database->engine();
  const uint64_t draw = numbers_.Below(1000);
  if (draw < 250) return LookUp(slot);
  if (draw < 400) return WriteBatch(slot);
  if (draw < 410 && engine == Engine::kPlain) return DeleteRange(slot);
  if (draw < 412 && engine != Engine::kWritePrepared) return Ingest(slot);
  if (draw < 550 && engine != Engine::kPlain) return Transact(slot);
  return WriteOne(slot);
}

uint32_t Writer::OwnKey() {
  return number_ * kKeysPerWriter +
         static_cast<uint32_t>(numbers_.Below(kKeysPerWriter));
}

std::string Writer::Text(uint32_t slot, uint32_t key) {
  std::string text = KeyText(slot, key);
  if (slot != kFoldedSlot) return text;
  return WithCapitals(std::move(text), numbers_.Next());
}

Value& Writer::Current(uint32_t slot, uint32_t key) {
  return current_[slot].values[key];
}

void Writer::Adopt(uint32_t slot) {
  const uint32_t generation = work_->database->family(slot).generation;
  if (current_[slot].exists && current_[slot].generation == generation) return;
  current_[slot] = SlotState();
  current_[slot].exists = true;
  current_[slot].generation = generation;
}

// A record that is not begun; none when the journal is full, and then all stop.
Writer::Change Writer::NewChange(uint32_t slot, Kind kind, uint32_t key,
                                 bool synced) {
  Record* const record = work_->journal->New();
  if (record == nullptr) {
    work_->stop = true;
    return {nullptr, slot};
  }
  record->kind = kind;
  record->slot = static_cast<uint8_t>(slot);
  record->generation = current_[slot].generation;
  record->key = key;
  record->key_end = key + 1;
  record->synced = synced;
  record->no_log = work_->plan->no_log[slot];
  record->id = work_->plan->cycle * Journal::kCapacity +
               static_cast<uint64_t>(record - &work_->journal->at(0));
  return {record, slot};
}

Kind Writer::DrawKind(uint32_t slot, uint32_t key) {
  const uint64_t draw = numbers_.Below(10);
  if (draw < 2) return Kind::kDelete;
  const Value& value = Current(slot, key);
  if (draw < 4 && (!value || value->size() < kLongValue)) return Kind::kMerge;
  return Kind::kPut;
}

void Writer::Begin(const std::vector<Change>& changes) {
  for (const Change& change : changes) work_->journal->Begin(change.record);
}

bool Writer::End(const std::vector<Change>& changes, const Status& status,
                 const char* what) {
  if (!status.ok()) {
    work_->Fail(std::string(what) + " fails: " + status.ToString());
    return false;
  }
  for (const Change& change : changes) {
    const Record& record = *change.record;
    for (uint32_t key = record.key; key < record.key_end; ++key) {
      Value& value = Current(change.slot, key);
      value = After(value, record);
    }
    work_->journal->End(change.record, Outcome::kDone);
    ++work_->journal->acknowledged;
    ++work_->journal->totals.writes_acknowledged;
  }
  return true;
}

void Writer::TakeBack(const std::vector<Change>& changes) {
  for (const Change& change : changes) {
    work_->journal->End(change.record, Outcome::kUndone);
  }
}

WriteOptions Writer::Options(uint32_t slot, bool synced) const {
  WriteOptions options;
  options.disableWAL = work_->plan->no_log[slot];
  options.sync = synced && !options.disableWAL;
  return options;
}

bool Writer::WriteOne(uint32_t slot) {
  const uint32_t key = OwnKey();
  const bool synced = !work_->plan->no_log[slot] && numbers_.Below(10) == 0;
  const Change change = NewChange(slot, DrawKind(slot, key), key, synced);
  if (change.record == nullptr) return false;
  rocksdb::DB* const db = work_->database->db();
  rocksdb::ColumnFamilyHandle* const family =
      work_->database->family(slot).handle;
  const WriteOptions options = Options(slot, synced);
  const std::string text = Text(slot, key);
  Begin({change});
  Status status;
  switch (change.record->kind) {
    case Kind::kPut:
      status = db->Put(options, family, text, ValueText(change.record->id));
      break;
    case Kind::kMerge:
      status = db->Merge(options, family, text, ValueText(change.record->id));
      break;
    default:
      status = db->Delete(options, family, text);
  }
  return End({change}, status, "a write");
}

bool Writer::WriteBatch(uint32_t slot) {
  const bool synced = !work_->plan->no_log[slot] && numbers_.Below(10) == 0;
  rocksdb::ColumnFamilyHandle* const family =
      work_->database->family(slot).handle;
  rocksdb::WriteBatch batch;
  std::vector<Change> changes;
  const uint64_t n = 2 + numbers_.Below(12);
  for (uint64_t i = 0; i < n; ++i) {
    const uint32_t key = OwnKey();
    changes.push_back(NewChange(slot, DrawKind(slot, key), key, synced));
    if (changes.back().record == nullptr) return false;
    const Status status =
        Apply(*changes.back().record, family, Text(slot, key), &batch);
    if (!status.ok()) return End(changes, status, "filling a batch");
  }
  Begin(changes);
  return End(changes,
             work_->database->db()->Write(Options(slot, synced), &batch),
             "a batch of writes");
}

bool Writer::DeleteRange(uint32_t slot) {
  const uint32_t key = OwnKey();
  const uint32_t end =
      std::min(key + 1 + static_cast<uint32_t>(numbers_.Below(30)),
               (number_ + 1) * kKeysPerWriter - 1);
  if (end <= key) return true;
  const Change change = NewChange(slot, Kind::kDeleteRange, key, false);
  if (change.record == nullptr) return false;
  change.record->key_end = end;
  Begin({change});
  ++work_->journal->totals.range_deletes;
  const Status status = work_->database->db()->DeleteRange(
      Options(slot, false), work_->database->family(slot).handle,
      Text(slot, key), Text(slot, end));
  return End({change}, status, "a range delete");
}

bool Writer::Transact(uint32_t slot) {
  const bool synced = numbers_.Below(10) == 0;
  const std::unique_ptr<Transaction> transaction(
      work_->database->transactions()->BeginTransaction(Options(slot, synced)));
  rocksdb::ColumnFamilyHandle* const family =
      work_->database->family(slot).handle;
  const bool two_phases = numbers_.Below(2) == 0;
  const uint32_t id = two_phases ? ++work_->transactions : 0;
  std::vector<Change> changes;
  const uint64_t n = 1 + numbers_.Below(6);
  for (uint64_t i = 0; i < n; ++i) {
    const uint32_t key = OwnKey();
    const std::string text = Text(slot, key);
    changes.push_back(NewChange(slot, DrawKind(slot, key), key, synced));
    Record* const record = changes.back().record;
    if (record == nullptr) return false;
    record->transaction = id;
    std::string before;
    Status status =
        transaction->GetForUpdate(ReadOptions(), family, text, &before);
    if (status.ok() || status.IsNotFound()) {
      status = Apply(*record, family, text, transaction.get());
    }
    if (!status.ok()) return End(changes, status, "filling a transaction");
  }
  ++work_->journal->totals.transactions;
  bool committed = true;
  if (two_phases) {
    if (!Prepare(transaction.get(), changes, &committed)) return false;
    if (!committed) return true;
  } else if (numbers_.Below(6) == 0) {
    // Nothing was begun.
    const Status status = transaction->Rollback();
    return status.ok() || End(changes, status, "a rollback");
  } else {
    Begin(changes);
  }
  return End(changes, transaction->Commit(), "a commit");
}

// Prepares, and perhaps takes it back: then *committed is false.
bool Writer::Prepare(Transaction* transaction,
                     const std::vector<Change>& changes, bool* committed) {
  Status status = transaction->SetName(
      "t" + std::to_string(changes[0].record->transaction));
  Begin(changes);
  if (status.ok()) status = transaction->Prepare();
  *committed = numbers_.Below(5) != 0;
  if (status.ok() && *committed) return true;
  if (status.ok()) status = transaction->Rollback();
  if (!status.ok()) return End(changes, status, "a prepared transaction");
  TakeBack(changes);
  return true;
}

bool Writer::Ingest(uint32_t slot) {
  const Configuration& configuration = work_->database->configuration();
  const rocksdb::Options options(configuration.db,
                                 configuration.families[slot]);
  rocksdb::SstFileWriter file(rocksdb::EnvOptions(), options);
  const std::string path =
      work_->folders->copies + "/ingest" + std::to_string(number_) + ".sst";
  Status status = file.Open(path);
  std::vector<Change> changes;
  const uint32_t last = (number_ + 1) * kKeysPerWriter;
  for (uint32_t key = OwnKey();
       key < last && changes.size() < 60 && status.ok();
       key += 1 + static_cast<uint32_t>(numbers_.Below(3))) {
    const Kind kind = numbers_.Below(5) == 0 ? Kind::kDelete : Kind::kPut;
    changes.push_back(NewChange(slot, kind, key, false));
    Record* const record = changes.back().record;
    if (record == nullptr) return false;
    record->stays = true;
    const std::string text = Text(slot, key);
    status = kind == Kind::kPut ? file.Put(text, ValueText(record->id))
                                : file.Delete(text);
  }
  if (status.ok()) status = file.Finish();
  if (!status.ok()) return End(changes, status, "writing a file to ingest");
  rocksdb::IngestExternalFileOptions ingestion;
  ingestion.move_files = numbers_.Below(2) == 0;
  Begin(changes);
  status = work_->database->db()->IngestExternalFile(
      work_->database->family(slot).handle, {path}, ingestion);
  // RocksDB may say so when others write at the same time: nothing was done.
  if (status.IsTryAgain()) {
    TakeBack(changes);
    return true;
  }
  if (status.ok()) ++work_->journal->totals.files_ingested;
  return End(changes, status, "an ingestion");
}

bool Writer::LookUp(uint32_t slot) {
  const uint32_t key = OwnKey();
  rocksdb::PinnableSlice found;
  const Status status = work_->database->db()->Get(
      ReadOptions(), work_->database->family(slot).handle, Text(slot, key),
      &found);
  ++work_->journal->totals.lookups;
  Value value;
  if (status.ok()) {
    value = found.ToString();
  } else if (!status.IsNotFound()) {
    work_->Fail("Get fails while others write: " + status.ToString());
    return false;
  }
  if (value == Current(slot, key)) return true;
  work_->journal->Fail(
      "Get of key '" + KeyText(slot, key) + "' of slot " +
      std::to_string(slot) + " finds, while others write, " +
      DescribeValue(value) + ", and its writer, who was told that it was " +
      "written, knows of " + DescribeValue(Current(slot, key)));
  return false;
}

}  // namespace deltabloom::torture
