#include "tests/torture/database.h"

#include <rocksdb/version.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace deltabloom::torture {

using rocksdb::DB;
using rocksdb::PinnableSlice;
using rocksdb::ReadOptions;
using rocksdb::Slice;
using rocksdb::Status;
using rocksdb::TransactionDB;

namespace {

// DB::Open fills a unique_ptr since 11.0, and a pointer before.
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

bool IsMisorder(const std::string& error) {
  constexpr bool kFixed = ROCKSDB_MAJOR > 7 || ROCKSDB_MINOR >= 10;
  return !kFixed &&
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
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  std::vector<uint32_t> slots;
  bool opened[kSlots] = {};
  for (const std::string& name : names) {
    uint32_t slot = 0;
    uint32_t generation = 0;
    if (!ParseFamilyName(name, &slot, &generation)) {
      return Status::Corruption("a column family that was never created", name);
    }
    if (opened[slot]) {
      return Status::Corruption("a column family that was dropped", name);
    }
    opened[slot] = true;
    families_[slot].generation = generation;
    slots.push_back(slot);
    descriptors.emplace_back(name, configuration_.families[slot]);
  }
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
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
    rocksdb::TransactionDBOptions options;
    options.write_policy = engine_ == Engine::kWritePrepared
                               ? rocksdb::WRITE_PREPARED
                               : rocksdb::WRITE_COMMITTED;
    options.rollback_merge_operands = true;
    // A busy machine is no failure.
    options.transaction_lock_timeout = 60'000;
    options.default_lock_timeout = 60'000;
    status = TransactionDB::Open(configuration_.db, options, path_, descriptors,
                                 &handles, &transactions_);
    if (status.ok()) db_.reset(transactions_);
  }
  if (!status.ok()) return status;
  for (size_t i = 0; i < slots.size(); ++i) {
    families_[slots[i]].handle = handles[i];
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
  // Refused while a compaction of WritePrepared holds a snapshot.
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

std::string Reader::Compare(const char* by, uint32_t slot, uint32_t key,
                            const Status& status, const std::string& found,
                            const Value& expected) {
  ++lookups_;
  Value value;
  if (status.ok()) {
    value = found;
  } else if (!status.IsNotFound()) {
    ++errors_;
    if (errors_allowed_) return "";
    return std::string(by) + " of key '" + KeyText(slot, key) + "' of slot " +
           std::to_string(slot) + " fails: " + status.ToString();
  }
  if (value == expected) return "";
  return std::string(by) + " of key '" + KeyText(slot, key) + "' (number " +
         std::to_string(key) + ") of slot " + std::to_string(slot) + " finds " +
         DescribeValue(value) + ", and an iterator found " +
         DescribeValue(expected);
}

std::string Reader::CompareAbsent(const char* by, uint32_t slot, uint32_t key,
                                  const Status& status) {
  ++lookups_;
  if (status.IsNotFound()) return "";
  ++errors_;
  if (errors_allowed_ && !status.ok()) return "";
  return std::string(by) + " of key '" + AbsentKeyText(slot, key) +
         "', which was never written, returns " + status.ToString();
}

std::string Reader::Scan(uint32_t slot, std::vector<Value>* values) {
  values->assign(kKeys, std::nullopt);
  ReadOptions options;
  options.total_order_seek = true;
  const std::unique_ptr<rocksdb::Iterator> iterator(
      database_->db()->NewIterator(options, database_->family(slot).handle));
  const std::string where = "an iterator over slot " + std::to_string(slot);
  int64_t last = -1;
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
    uint32_t key = 0;
    const std::string text = iterator->key().ToString();
    if (!ParseKey(slot, text, &key) || int64_t{key} <= last) {
      return where + " comes to '" + text + "', which " +
             (int64_t{key} <= last ? "is out of order" : "was never written");
    }
    last = key;
    (*values)[key] = iterator->value().ToString();
    ++totals_->entries_iterated;
  }
  if (iterator->status().ok()) return "";
  return where + " fails: " + iterator->status().ToString();
}

std::string Reader::LookUp(uint32_t slot, const std::vector<uint32_t>& keys,
                           const std::vector<Value>& values) {
  rocksdb::ColumnFamilyHandle* const family = database_->family(slot).handle;
  for (const uint32_t key : keys) {
    PinnableSlice value;
    Status status = database_->db()->Get(
        ReadOptions(), family, DrawKeyText(slot, key, &numbers_), &value);
    std::string problem =
        Compare("Get", slot, key, status, value.ToString(), values[key]);
    if (!problem.empty()) return problem;
    if (key % 4 != 0) continue;
    value.Reset();
    status = database_->db()->Get(ReadOptions(), family,
                                  AbsentKeyText(slot, key), &value);
    problem = CompareAbsent("Get", slot, key, status);
    if (!problem.empty()) return problem;
  }
  return MultiGet(slot, keys, values);
}

std::string Reader::MultiGet(uint32_t slot, const std::vector<uint32_t>& keys,
                             const std::vector<Value>& values) {
  rocksdb::DB* const db = database_->db();
  rocksdb::ColumnFamilyHandle* const family = database_->family(slot).handle;
  for (size_t begin = 0; begin < keys.size();) {
    const size_t n =
        std::min<size_t>(keys.size() - begin, 1 + numbers_.Below(50));
    // An absent key after every third.
    std::vector<std::string> texts;
    for (size_t i = 0; i < n; ++i) {
      texts.push_back(DrawKeyText(slot, keys[begin + i], &numbers_));
      if (i % 3 == 0) texts.push_back(AbsentKeyText(slot, keys[begin + i]));
    }
    const std::vector<Slice> slices(texts.begin(), texts.end());
    std::vector<std::string> found;
    std::vector<Status> statuses(slices.size());
    if (database_->engine() == Engine::kWritePrepared) {
      // The newer call shows prepared writes that are not committed (seen in
      // RocksDB 7.8).
      statuses =
          db->MultiGet(ReadOptions(), {slices.size(), family}, slices, &found);
    } else {
      std::vector<PinnableSlice> pinned(slices.size());
      db->MultiGet(ReadOptions(), family, slices.size(), slices.data(),
                   pinned.data(), statuses.data());
      for (const PinnableSlice& value : pinned) {
        found.push_back(value.ToString());
      }
    }
    size_t at = 0;
    for (size_t i = 0; i < n; ++i) {
      const uint32_t key = keys[begin + i];
      std::string problem =
          Compare("MultiGet", slot, key, statuses[at], found[at], values[key]);
      ++at;
      if (problem.empty() && i % 3 == 0) {
        problem = CompareAbsent("MultiGet", slot, key, statuses[at++]);
      }
      if (!problem.empty()) return problem;
    }
    begin += n;
  }
  return "";
}

std::string Reader::Iterate(uint32_t slot, uint32_t key,
                            const std::vector<Value>& values) {
  const auto yes = [&] { return numbers_.Below(2) == 0; };
  // The group.
  const uint32_t first = key / kKeysPerGroup * kKeysPerGroup;
  const std::string bound = KeyText(slot, first).substr(0, kPrefixSize - 1) +
                            static_cast<char>('-' + 1);
  Slice upper = bound;
  ReadOptions group;
  // Seeks of a part of a prefix need the other mode; whole ones take either.
  group.auto_prefix_mode = yes();
  if (group.auto_prefix_mode || slot == kFoldedSlot) {
    group.iterate_upper_bound = &upper;
  } else {
    group.prefix_same_as_start = true;
  }
  std::string problem = Walk(
      slot, group, DrawKeyText(slot, first, &numbers_).substr(0, kPrefixSize),
      first, first + kKeysPerGroup, true, values);
  if (!problem.empty()) return problem;
  // A range.
  const bool with_first = yes();
  const bool with_last = yes();
  const uint32_t last = std::min<uint32_t>(
      kKeys - 1, key + static_cast<uint32_t>(numbers_.Below(4)));
  const std::string end =
      with_last ? AbsentKeyText(slot, last) : KeyText(slot, last);
  upper = end;
  ReadOptions range;
  range.auto_prefix_mode = true;
  range.iterate_upper_bound = &upper;
  problem = Walk(
      slot, range, with_first ? KeyText(slot, key) : AbsentKeyText(slot, key),
      key + (with_first ? 0 : 1), last + (with_last ? 1 : 0), true, values);
  if (!problem.empty()) return problem;
  // From the key on.
  ReadOptions all;
  all.total_order_seek = true;
  const bool forward = yes();
  return Walk(slot, all, DrawKeyText(slot, key, &numbers_), forward ? key : 0,
              forward ? kKeys : key + 1, forward, values);
}

// What comes from `start` on: the keys of [begin, end) that have values, at
// most 20 of them. Only an upper bound stops it at the end.
std::string Reader::Walk(uint32_t slot, const ReadOptions& options,
                         const std::string& start, uint32_t begin, uint32_t end,
                         bool forward, const std::vector<Value>& values) {
  const std::unique_ptr<rocksdb::Iterator> iterator(
      database_->db()->NewIterator(options, database_->family(slot).handle));
  const std::string what =
      "an iterator over slot " + std::to_string(slot) + " from '" + start + "'";
  int64_t next = forward ? int64_t{begin} : int64_t{end} - 1;
  const auto in_range = [&] { return next >= begin && next < end; };
  const auto skip_absent = [&] {
    while (in_range() && !values[static_cast<size_t>(next)]) {
      next += forward ? 1 : -1;
    }
  };
  skip_absent();
  forward ? iterator->Seek(start) : iterator->SeekForPrev(start);
  int steps = 20;
  while (iterator->Valid() && steps > 0) {
    uint32_t at = 0;
    const bool parsed = ParseKey(slot, iterator->key().ToStringView(), &at);
    if (parsed && at >= end && options.iterate_upper_bound == nullptr) break;
    if (!parsed || at != next || values[at] != iterator->value().ToString()) {
      return what + " comes to '" + iterator->key().ToString() +
             "' where key number " + std::to_string(next) + " is next";
    }
    ++totals_->entries_iterated;
    next += forward ? 1 : -1;
    skip_absent();
    forward ? iterator->Next() : iterator->Prev();
    --steps;
  }
  ++lookups_;
  if (!iterator->status().ok()) {
    ++errors_;
    if (errors_allowed_) return "";
    return what + " fails: " + iterator->status().ToString();
  }
  if (steps == 0 || !in_range()) return "";
  return what + " ends before key number " + std::to_string(next);
}

}  // namespace deltabloom::torture
