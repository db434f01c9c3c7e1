#include "tests/torture/database.h"

#include <rocksdb/version.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
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

Database::Database(const std::string& at, Engine with, Configuration how,
                   rocksdb::Env* env)
    : path(at), engine(with), configuration(std::move(how)) {
  configuration.db.create_if_missing = true;
  configuration.db.statistics = rocksdb::CreateDBStatistics();
  if (env != nullptr) configuration.db.env = env;
}

Status Database::Open(Mode mode) {
  std::vector<std::string> names;
  rocksdb::DBOptions listing = configuration.db;
  listing.statistics = nullptr;
  Status status = DB::ListColumnFamilies(listing, path, &names);
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
    families[slot].generation = generation;
    slots.push_back(slot);
    descriptors.emplace_back(name, configuration.families[slot]);
  }
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  if (mode == Mode::kReadOnly) {
    status = Own(&db, [&](auto* opened_db) {
      return DB::OpenForReadOnly(configuration.db, path, descriptors, &handles,
                                 opened_db);
    });
  } else if (engine == Engine::kPlain) {
    status = Own(&db, [&](auto* opened_db) {
      return DB::Open(configuration.db, path, descriptors, &handles, opened_db);
    });
  } else {
    rocksdb::TransactionDBOptions options;
    options.write_policy = engine == Engine::kWritePrepared
                               ? rocksdb::WRITE_PREPARED
                               : rocksdb::WRITE_COMMITTED;
    options.rollback_merge_operands = true;
    // A busy machine is no failure.
    options.transaction_lock_timeout = 60'000;
    options.default_lock_timeout = 60'000;
    status = TransactionDB::Open(configuration.db, options, path, descriptors,
                                 &handles, &transactions);
    if (status.ok()) db.reset(transactions);
  }
  if (!status.ok()) return status;
  for (size_t i = 0; i < slots.size(); ++i) {
    families[slots[i]].handle = handles[i];
  }
  return status;
}

Status Database::Close() {
  if (db == nullptr) return Status::OK();
  for (Family& family : families) {
    if (family.handle != nullptr) db->DestroyColumnFamilyHandle(family.handle);
    family.handle = nullptr;
  }
  Status status = db->Close();
  // Refused while a compaction of WritePrepared holds a snapshot.
  for (int i = 0; i < 6000 && status.IsAborted(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    status = db->Close();
  }
  db.reset();
  transactions = nullptr;
  return status;
}

Status Database::CreateFamily(uint32_t slot, uint32_t generation) {
  Family& family = families[slot];
  const Status status =
      db->CreateColumnFamily(configuration.families[slot],
                             FamilyName(slot, generation), &family.handle);
  if (status.ok()) family.generation = generation;
  return status;
}

Status Database::DropFamily(uint32_t slot) {
  Family& family = families[slot];
  const Status status = db->DropColumnFamily(family.handle);
  if (!status.ok()) return status;
  db->DestroyColumnFamilyHandle(family.handle);
  family.handle = nullptr;
  return status;
}

void Database::CountFilters(Totals* totals) {
  const auto take = [&](rocksdb::Tickers ticker) {
    return configuration.db.statistics->getAndResetTickerCount(ticker);
  };
  const uint64_t useful = take(rocksdb::BLOOM_FILTER_USEFUL);
  const uint64_t positive = take(rocksdb::BLOOM_FILTER_FULL_POSITIVE);
  const uint64_t prefixes = take(rocksdb::BLOOM_FILTER_PREFIX_CHECKED);
  totals->filters_consulted += useful + positive + prefixes;
  totals->filters_useful += useful + take(rocksdb::BLOOM_FILTER_PREFIX_USEFUL);
}

void Reader::CountError(const std::string& what, const Status& status) {
  ++errors_;
  if (!errors_allowed_) {
    throw std::runtime_error(what + " returns " + status.ToString());
  }
}

void Reader::Compare(const char* by, uint32_t slot, uint32_t key,
                     const Status& status, const std::string& found,
                     const Value& expected) {
  ++lookups_;
  const std::string what = std::string(by) + " of key '" + KeyText(slot, key) +
                           "' (number " + std::to_string(key) + ") of slot " +
                           std::to_string(slot);
  if (!status.ok() && !status.IsNotFound()) return CountError(what, status);
  const Value value = status.ok() ? Value(found) : std::nullopt;
  if (value == expected) return;
  throw std::runtime_error(what + " finds " + DescribeValue(value) +
                           ", and an iterator found " +
                           DescribeValue(expected));
}

void Reader::CompareAbsent(const char* by, uint32_t slot, uint32_t key,
                           const Status& status) {
  ++lookups_;
  if (status.IsNotFound()) return;
  const std::string what = std::string(by) + " of key '" +
                           AbsentKeyText(slot, key) +
                           "', which was never written,";
  if (status.ok()) throw std::runtime_error(what + " finds it");
  CountError(what, status);
}

std::unique_ptr<rocksdb::Iterator> Reader::NewIterator(
    uint32_t slot, const ReadOptions& options) {
  return std::unique_ptr<rocksdb::Iterator>(
      database_->db->NewIterator(options, database_->families[slot].handle));
}

std::vector<Value> Reader::Scan(uint32_t slot) {
  std::vector<Value> values(kKeys);
  ReadOptions options;
  options.total_order_seek = true;
  const auto iterator = NewIterator(slot, options);
  const std::string what = "an iterator over slot " + std::to_string(slot);
  int64_t last = -1;
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
    uint32_t key = 0;
    const Slice text = iterator->key();
    if (!ParseKey(slot, text.ToStringView(), &key) || int64_t{key} <= last) {
      throw std::runtime_error(what + " comes to '" + text.ToString() +
                               "', which was never written or out of order");
    }
    last = key;
    values[key] = iterator->value().ToString();
    ++totals_->entries_iterated;
  }
  if (!iterator->status().ok()) CountError(what, iterator->status());
  return values;
}

SlotState Reader::Judge(const Model& model, uint32_t slot) {
  const auto check = [](const std::string& problem) {
    if (!problem.empty()) throw std::runtime_error(problem);
  };
  const Family& family = database_->families[slot];
  SlotState state;
  state.exists = family.handle != nullptr;
  state.generation = family.generation;
  check(model.JudgeSlot(slot, state.exists, state.generation));
  if (!state.exists) return state;
  state.values = Scan(slot);
  for (uint32_t key = 0; key < kKeys; ++key) {
    check(model.Judge(slot, state.generation, key, state.values[key]));
  }
  totals_->keys_checked += kKeys;
  return state;
}

void Reader::LookUp(uint32_t slot, const std::vector<uint32_t>& keys,
                    const std::vector<Value>& values) {
  rocksdb::ColumnFamilyHandle* const family = database_->families[slot].handle;
  for (const uint32_t key : keys) {
    PinnableSlice value;
    Status status = database_->db->Get(
        ReadOptions(), family, DrawKeyText(slot, key, &numbers_), &value);
    Compare("Get", slot, key, status, value.ToString(), values[key]);
    if (key % 4 != 0) continue;
    value.Reset();
    status = database_->db->Get(ReadOptions(), family, AbsentKeyText(slot, key),
                                &value);
    CompareAbsent("Get", slot, key, status);
  }
  MultiGet(slot, keys, values);
}

void Reader::MultiGet(uint32_t slot, const std::vector<uint32_t>& keys,
                      const std::vector<Value>& values) {
  rocksdb::DB* const db = database_->db.get();
  rocksdb::ColumnFamilyHandle* const family = database_->families[slot].handle;
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
    if (database_->engine == Engine::kWritePrepared) {
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
      Compare("MultiGet", slot, key, statuses[at], found[at], values[key]);
      ++at;
      if (i % 3 == 0) CompareAbsent("MultiGet", slot, key, statuses[at++]);
    }
    begin += n;
  }
}

void Reader::Iterate(uint32_t slot, uint32_t key,
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
  Walk(slot, group, DrawKeyText(slot, first, &numbers_).substr(0, kPrefixSize),
       first, first + kKeysPerGroup, true, values);
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
  Walk(slot, range, with_first ? KeyText(slot, key) : AbsentKeyText(slot, key),
       key + (with_first ? 0 : 1), last + (with_last ? 1 : 0), true, values);
  // From the key on.
  ReadOptions all;
  all.total_order_seek = true;
  const bool forward = yes();
  Walk(slot, all, DrawKeyText(slot, key, &numbers_), forward ? key : 0,
       forward ? kKeys : key + 1, forward, values);
}

// What comes from `start` on: the keys of [begin, end) that have values, at
// most 20 of them. Only an upper bound stops it at the end.
void Reader::Walk(uint32_t slot, const ReadOptions& options,
                  const std::string& start, uint32_t begin, uint32_t end,
                  bool forward, const std::vector<Value>& values) {
  const auto iterator = NewIterator(slot, options);
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
      throw std::runtime_error(
          what + " comes to '" + iterator->key().ToString() +
          "' where key number " + std::to_string(next) + " is next");
    }
    ++totals_->entries_iterated;
    next += forward ? 1 : -1;
    skip_absent();
    forward ? iterator->Next() : iterator->Prev();
    --steps;
  }
  ++lookups_;
  if (!iterator->status().ok()) return CountError(what, iterator->status());
  if (steps > 0 && in_range()) {
    throw std::runtime_error(what + " ends before key number " +
                             std::to_string(next));
  }
}

}  // namespace deltabloom::torture
