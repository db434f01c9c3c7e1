#include "db_bench_ext/torture/database.h"

#include <rocksdb/version.h>

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

namespace deltabloom::torture {

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::ColumnFamilyHandle;
using rocksdb::DB;
using rocksdb::Status;
using rocksdb::TransactionDB;
using rocksdb::TransactionDBOptions;

namespace {

// Since 11.0 a unique_ptr is filled, before a pointer.
template <typename Opener>
Status Own(std::unique_ptr<DB>* owner, const Opener& open) {
#if ROCKSDB_MAJOR >= 11
  return open(owner);
#else
  DB* db = nullptr;
  const Status status = open(&db);
  owner->reset(db);
  return status;
#endif
}

}  // namespace

bool TellsOfMisorder(const std::string& error) {
  constexpr bool kMended = ROCKSDB_MAJOR > 7 || ROCKSDB_MINOR >= 10;
  return !kMended &&
         error.find("force_consistency_checks") != std::string::npos &&
         error.find("L0 file") != std::string::npos;
}

Database::Database(std::string path, Engine engine, Configuration configuration,
                   rocksdb::Env* env)
    : path_(std::move(path)),
      engine_(engine),
      configuration_(std::move(configuration)),
      env_(env) {
  configuration_.db.create_if_missing = true;
  configuration_.db.statistics = rocksdb::CreateDBStatistics();
  if (env_ != nullptr) configuration_.db.env = env_;
}

Database::~Database() { static_cast<void>(Close()); }

Status Database::Open(Mode mode) {
  std::vector<std::string> names;
  rocksdb::DBOptions listing = configuration_.db;
  listing.statistics = nullptr;
  Status status = DB::ListColumnFamilies(listing, path_, &names);
  if (!status.ok()) names = {"default"};
  std::vector<ColumnFamilyDescriptor> descriptors;
  std::vector<std::pair<uint32_t, uint32_t>> places;
  for (const std::string& name : names) {
    uint32_t slot = 0;
    uint32_t generation = 0;
    if (!ParseFamilyName(name, &slot, &generation)) {
      return Status::Corruption("a column family that nobody made", name);
    }
    for (const auto& place : places) {
      if (place.first == slot) {
        return Status::Corruption("a column family that was dropped", name);
      }
    }
    places.emplace_back(slot, generation);
    descriptors.emplace_back(name, configuration_.families[slot]);
  }
  std::vector<ColumnFamilyHandle*> handles;
  if (mode == Mode::kReadOnly) {
    status = Own(&db_, [&](auto* db) {
      return DB::OpenForReadOnly(configuration_.db, path_, descriptors,
                                 &handles, db);
    });
  } else if (engine_ == Engine::kPlain) {
    status = Own(&db_, [&](auto* db) {
      return DB::Open(configuration_.db, path_, descriptors, &handles, db);
    });
  } else {
    TransactionDBOptions options;
    options.write_policy = engine_ == Engine::kWritePrepared
                               ? rocksdb::WRITE_PREPARED
                               : rocksdb::WRITE_COMMITTED;
    options.rollback_merge_operands = true;
    // A machine that is busy is no failure.
    options.transaction_lock_timeout = 60'000;
    options.default_lock_timeout = 60'000;
    status = TransactionDB::Open(configuration_.db, options, path_, descriptors,
                                 &handles, &transactions_);
    if (status.ok()) db_.reset(transactions_);
  }
  if (!status.ok()) return status;
  for (size_t i = 0; i < places.size(); ++i) {
    Family& family = families_[places[i].first];
    family.handle = handles[i];
    family.generation = places[i].second;
  }
  return status;
}

Status Database::Close() {
  if (db_ == nullptr) return Status::OK();
  for (Family& family : families_) {
    if (family.handle != nullptr) db_->DestroyColumnFamilyHandle(family.handle);
    family.handle = nullptr;
  }
  Status status = db_->Close();
  // A compaction of WritePrepared holds a snapshot, and then it is refused.
  for (int i = 0; i < 6000 && status.IsAborted(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    status = db_->Close();
  }
  db_.reset();
  transactions_ = nullptr;
  return status;
}

Status Database::CreateFamily(uint32_t slot, uint32_t generation) {
  Family& family = families_[slot];
  const Status status =
      db_->CreateColumnFamily(configuration_.families[slot],
                              FamilyName(slot, generation), &family.handle);
  if (status.ok()) family.generation = generation;
  return status;
}

Status Database::DropFamily(uint32_t slot) {
  Family& family = families_[slot];
  const Status status = db_->DropColumnFamily(family.handle);
  if (!status.ok()) return status;
  db_->DestroyColumnFamilyHandle(family.handle);
  family.handle = nullptr;
  return status;
}

void Database::CountFilters(Totals* totals) {
  const auto take = [&](rocksdb::Tickers ticker) {
    return configuration_.db.statistics->getAndResetTickerCount(ticker);
  };
  const uint64_t useful = take(rocksdb::BLOOM_FILTER_USEFUL);
  const uint64_t positive = take(rocksdb::BLOOM_FILTER_FULL_POSITIVE);
  const uint64_t prefixes = take(rocksdb::BLOOM_FILTER_PREFIX_CHECKED);
  totals->filters_consulted += useful + positive + prefixes;
  totals->filters_useful += useful + take(rocksdb::BLOOM_FILTER_PREFIX_USEFUL);
}

}  // namespace deltabloom::torture
