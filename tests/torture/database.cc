#include <rocksdb/comparator.h>
#include <rocksdb/convenience.h>
#include <rocksdb/merge_operator.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/statistics.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/object_registry.h>
#include <rocksdb/version.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "db_bench_ext/common/mixing.h"
#include "deltabloom/rocksdb.h"
#include "deltabloom/rocksdb_ranges.h"
#include "tests/torture/torture.h"

namespace deltabloom::torture {

using bench::MixedNumbers;
using rocksdb::DB;
using rocksdb::ReadOptions;
using rocksdb::Slice;
using rocksdb::Status;

namespace {

constexpr char kFoldingName[] = "deltabloom.torture.folding";

// --- Comparator and merge operator -------------------------------------------

// Orders bytes, upper case letters as lower case ones.
class Folding : public rocksdb::Comparator {
 public:
  const char* Name() const override { return kFoldingName; }
  int Compare(const Slice& a, const Slice& b) const override {
    return Lower(a.ToStringView()).compare(Lower(b.ToStringView()));
  }
  bool CanKeysWithDifferentByteContentsBeEqual() const override { return true; }
  void FindShortestSeparator(std::string*, const Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}
};

const rocksdb::Comparator* FoldingComparator() {
  static const rocksdb::Comparator* const comparator = [] {
    static const Folding folding;
    // A backup opens tables by the name of their comparator.
    rocksdb::ObjectLibrary::Default()->AddFactory<const rocksdb::Comparator>(
        kFoldingName,
        [](const std::string&, std::unique_ptr<const rocksdb::Comparator>*,
           std::string*) { return &folding; });
    return &folding;
  }();
  return comparator;
}

class Appending : public rocksdb::AssociativeMergeOperator {
 public:
  const char* Name() const override { return "deltabloom.torture.appending"; }
  bool Merge(const Slice&, const Slice* existing, const Slice& operand,
             std::string* merged, rocksdb::Logger*) const override {
    *merged = Merged(existing == nullptr ? Value() : existing->ToString(),
                     operand.ToStringView());
    return true;
  }
};

// --- Options, drawn at random ------------------------------------------------

// An option and its values. Equally likely are the values; one that stands
// twice is twice as likely. A value may set further options after a semicolon.
struct Row {
  const char* name;
  const char* values;
};
using Rows = std::vector<Row>;

// Options of Deltabloom's policy that may change at run time; others follow
// below.
const Rows kChangeable = {
    {"layout", "classic,local,compact,compact"},
    {"max_build_bytes", "0,3000"},
    {"max_filter_bytes", "unlimited,unlimited,300,40"},
    {"payload_check", "false,true"},
    {"seeded", "false,true"},
    {"statistics_log_seconds", "600,1"},
};
const Rows kFixed = {
    {"compatibility", "builtin,own"},
    {"statistics", "true,false"},
    {"key_transform",
     "none,none,none,none,ascii_lowercase@1,trim_trailing_spaces@1"},
};
// Both are set at once, as they may conflict with what was there.
const Rows kBits = {
    {"bits_per_key",
     "10;upper_bits_per_key=unset,10;upper_bits_per_key=10,"
     "4.5;upper_bits_per_key=unset,16;upper_bits_per_key=30,"
     "24.7;upper_bits_per_key=unset,0.3;upper_bits_per_key=unset,"
     "0;upper_bits_per_key=12"}};
constexpr Row kForeignPolicy = {
    "id",
    "bloomfilter:10:false,bloomfilter:6.5:false,ribbonfilter:10,"
    "ribbonfilter:12:2,nullptr"};

const Rows kTable = {
    {"index_type",
     "kBinarySearch,kBinarySearchWithFirstKey,kTwoLevelIndexSearch,"
     "kTwoLevelIndexSearch;partition_filters=true,"
     "kTwoLevelIndexSearch;partition_filters=true,"
     "kTwoLevelIndexSearch;partition_filters=true"},
    {"metadata_block_size", "128,512,4096"},
    {"block_size", "400,1024,4096"},
    {"whole_key_filtering", "true,true,true,true,false"},
    {"optimize_filters_for_memory", "false,true"},
    {"detect_filter_construct_corruption", "false,true"},
    {"format_version", "3,4,5"},
    {"checksum", "kCRC32c,kxxHash,kxxHash64,kXXH3"},
};
const Rows kBytewiseTable = {
    {"data_block_index_type",
     "kDataBlockBinarySearch,kDataBlockBinaryAndHash"}};
const Rows kCache = {
    {"block_cache", "64K,1M,16M"},
    {"cache_index_and_filter_blocks", "false,true"},
    {"pin_l0_filter_and_index_blocks_in_cache", "false,true"},
    {"pin_top_level_index_and_filter", "false,true"},
};
const Rows kFamily = {
    {"write_buffer_size", "64K,128K,1M"},
    {"target_file_size_base", "16K,64K"},
    {"max_bytes_for_level_base", "64K,256K"},
    {"max_bytes_for_level_multiplier", "4"},
    {"level0_file_num_compaction_trigger", "2,4"},
    {"level_compaction_dynamic_level_bytes", "false"},
    {"optimize_filters_for_hits", "false,false,false,true"},
    {"compression", "kNoCompression,kSnappyCompression,kLZ4Compression"},
};
// Options of column families under bytewise order; 6 is kPrefixSize.
const Rows kExtractor = {
    {"prefix_extractor",
     "rocksdb.CappedPrefix.4,rocksdb.FixedPrefix.6,rocksdb.FixedPrefix.6,"
     "nullptr"}};
const Rows kMemtable = {
    {"memtable_prefix_bloom_size_ratio", "0,0.1"},
    {"memtable_whole_key_filtering", "false,true"},
};
const Rows kDatabase = {
    {"max_background_jobs", "2"},
    {"max_subcompactions", "1,2"},
    {"max_open_files", "-1,30"},
    {"avoid_flush_during_recovery", "false,true"},
    {"max_total_wal_size", "0,256K"},
    {"keep_log_file_num", "3"},
    {"stats_dump_period_sec", "0"},
    {"stats_persist_period_sec", "0"},
};

std::string Draw(MixedNumbers* numbers, const Row& row) {
  std::vector<std::string> values;
  std::istringstream list(row.values);
  for (std::string value; std::getline(list, value, ',');) {
    values.push_back(value);
  }
  return std::string(row.name) + "=" + values[numbers->Below(values.size())];
}

std::string Draw(MixedNumbers* numbers, const Rows& rows) {
  std::string text;
  for (const Row& row : rows) text += Draw(numbers, row) + ";";
  return text;
}

bool Contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

void Verify(const Status& status, const std::string& text) {
  if (status.ok()) return;
  throw std::runtime_error("RocksDB rejects " + text + ": " +
                           status.ToString());
}

std::string DrawPolicy(MixedNumbers* numbers, uint32_t slot) {
  // RocksDB's filters lose keys whose bytes differ and that compare equal.
  if (slot == kFoldedSlot) {
    return "id=deltabloom;key_transform=ascii_lowercase@1;" +
           Draw(numbers, kFixed[0]) + ";" + Draw(numbers, kBits) +
           Draw(numbers, kChangeable);
  }
  if (numbers->Below(5) == 0) {
    return Draw(numbers, kForeignPolicy).substr(3);
  }
  std::string text = "id=deltabloom;" + Draw(numbers, kChangeable);
  text += Draw(numbers, kFixed);
  return text + Draw(numbers, kBits);
}

std::shared_ptr<RocksDBRanges> AddRanges(MixedNumbers* numbers, bool folded,
                                         rocksdb::ColumnFamilyOptions* family) {
  RocksDBRangeOptions options;
  if (folded) options.key_transform = "ascii_lowercase";
  options.bits_per_key = numbers->Below(2) == 0 ? 8 : 4;
  if (numbers->Below(4) == 0) options.max_table_bytes = 300;
  if (numbers->Below(4) == 0) options.max_build_bytes = 5000;
  constexpr const char* kPrefixes[] = {"auto", "4,6,20b", "8", "1,'-','/'"};
  options.prefixes = kPrefixes[numbers->Below(4)];
  std::string error;
  auto ranges = RocksDBRanges::New(options, &error);
  if (ranges == nullptr || !ranges->AddTo(family, &error)) {
    throw std::runtime_error(error);
  }
  return ranges;
}

void DrawFamily(MixedNumbers* numbers, uint32_t slot, const Sabotage& sabotage,
                Family* family, std::string* description) {
  family->policy = DrawPolicy(numbers, slot);
  const bool folded = slot == kFoldedSlot;
  const rocksdb::ConfigOptions config;
  std::string text = Draw(numbers, kTable);
  if (!folded) text += Draw(numbers, kBytewiseTable);
  text +=
      numbers->Below(6) == 0 ? "no_block_cache=true" : Draw(numbers, kCache);
  rocksdb::BlockBasedTableOptions table;
  Verify(GetBlockBasedTableOptionsFromString(
             config, rocksdb::BlockBasedTableOptions(), text, &table),
         text);
  Verify(rocksdb::FilterPolicy::CreateFromString(config, family->policy,
                                                 &table.filter_policy),
         "the policy " + family->policy);
  if (sabotage.policy && table.filter_policy != nullptr) {
    table.filter_policy = sabotage.policy(table.filter_policy);
  }

  text = Draw(numbers, kFamily) + (folded ? "" : Draw(numbers, kExtractor));
  // A key transform allows no Bloom filter of a memtable.
  if (!Contains(family->policy, "@")) text += Draw(numbers, kMemtable);
  rocksdb::ColumnFamilyOptions* const options = &family->options;
  Verify(GetColumnFamilyOptionsFromString(
             config, rocksdb::ColumnFamilyOptions(), text, options),
         text);
  options->merge_operator = std::make_shared<Appending>();
  options->table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  if (slot == kUniversalSlot) {
    options->compaction_style = rocksdb::kCompactionStyleUniversal;
  }
  if (folded) options->comparator = FoldingComparator();
  family->ranges = AddRanges(numbers, folded, options);
  const auto& extractor = options->prefix_extractor;
  *description +=
      "  slot " + std::to_string(slot) + ": " + family->policy +
      (table.partition_filters ? ", partitioned" : ", full") +
      (table.whole_key_filtering ? "" : ", prefixes only") +
      (extractor == nullptr ? "" : ", prefix " + extractor->AsString()) + "\n";
  std::string error;
  if (!CheckRocksDBFilters(*options, &error)) throw std::runtime_error(error);
}

// --- Opening and closing -----------------------------------------------------

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

std::string DrawChange(MixedNumbers* numbers) {
  return Draw(numbers, kChangeable[numbers->Below(kChangeable.size())]);
}

bool IsMisorder(const std::string& error) {
  constexpr bool kIsFixed = ROCKSDB_MAJOR > 7 || ROCKSDB_MINOR >= 10;
  return !kIsFixed && Contains(error, "force_consistency_checks") &&
         Contains(error, "L0 file");
}

Database::Database(std::string at, bool with_transactions, uint64_t seed,
                   const Sabotage& sabotage, rocksdb::Env* env, Totals* totals,
                   bool errors_allowed)
    : path(std::move(at)),
      transactional(with_transactions),
      totals_(totals),
      numbers_(seed),
      errors_allowed_(errors_allowed) {
  std::string error;
  if (!RegisterRocksDB(&error)) throw std::runtime_error(error);
  const std::string text = Draw(&numbers_, kDatabase);
  Verify(GetDBOptionsFromString(rocksdb::ConfigOptions(), rocksdb::DBOptions(),
                                text, &options),
         text);
  options.create_if_missing = options.create_missing_column_families = true;
  options.statistics = rocksdb::CreateDBStatistics();
  if (env != nullptr) options.env = env;
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    DrawFamily(&numbers_, slot, sabotage, &families[slot], &description);
  }
}

Status Database::Open(bool read_only) {
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    descriptors.emplace_back(kFamilies[slot], families[slot].options);
  }
  Status status;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  if (read_only || !transactional) {
    status = Own(&db, [&](auto* opened) {
      return read_only ? DB::OpenForReadOnly(options, path, descriptors,
                                             &handles, opened)
                       : DB::Open(options, path, descriptors, &handles, opened);
    });
  } else {
    rocksdb::TransactionDBOptions transaction;
    // A busy machine is no failure.
    transaction.transaction_lock_timeout = 60'000;
    transaction.default_lock_timeout = 60'000;
    status = rocksdb::TransactionDB::Open(options, transaction, path,
                                          descriptors, &handles, &transactions);
    if (status.ok()) db.reset(transactions);
  }
  if (!status.ok()) return status;
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    families[slot].handle = handles[slot];
  }
  return status;
}

Status Database::Close() {
  if (db == nullptr) return Status::OK();
  for (Family& family : families) {
    db->DestroyColumnFamilyHandle(family.handle);
  }
  const Status status = db->Close();
  db.reset();
  transactions = nullptr;
  return status;
}

void Database::CountFilters() {
  const auto take = [&](rocksdb::Tickers ticker) {
    return options.statistics->getAndResetTickerCount(ticker);
  };
  const uint64_t useful = take(rocksdb::BLOOM_FILTER_USEFUL);
  const uint64_t positive = take(rocksdb::BLOOM_FILTER_FULL_POSITIVE);
  const uint64_t prefixes = take(rocksdb::BLOOM_FILTER_PREFIX_CHECKED);
  totals_->filters_consulted += useful + positive + prefixes;
  totals_->filters_useful += useful + take(rocksdb::BLOOM_FILTER_PREFIX_USEFUL);
  for (Family& family : families) {
    const RocksDBRangeStatistics now = family.ranges->Statistics();
    const RocksDBRangeStatistics& before = family.counted;
    totals_->range_scans += now.scans - before.scans;
    totals_->range_tables += now.tables - before.tables;
    totals_->range_tables_rejected +=
        now.tables_rejected - before.tables_rejected;
    family.counted = now;
  }
}

// --- Reads -------------------------------------------------------------------

void Database::CountError(const std::string& what, const Status& status) {
  ++errors;
  if (!errors_allowed_) {
    throw std::runtime_error(what + " returns " + status.ToString());
  }
}

void Database::Compare(const char* by, uint32_t slot, const std::string& key,
                       const Status& status, const std::string& found,
                       const Value& expected) {
  ++lookups;
  const std::string what =
      std::string(by) + " of key '" + key + "' of slot " + std::to_string(slot);
  if (!status.ok() && !status.IsNotFound()) return CountError(what, status);
  const Value value = status.ok() ? Value(found) : std::nullopt;
  if (value == expected) return;
  throw std::runtime_error(what + " finds " + DescribeValue(value) +
                           ", and an iterator found " +
                           DescribeValue(expected));
}

std::unique_ptr<rocksdb::Iterator> Database::NewIterator(
    uint32_t slot, const ReadOptions& read) {
  return std::unique_ptr<rocksdb::Iterator>(
      db->NewIterator(read, families[slot].handle));
}

Values Database::Judge(const Model& model, uint32_t slot) {
  Values values(kKeys);
  ReadOptions read;
  read.total_order_seek = true;
  const auto iterator = NewIterator(slot, read);
  const std::string what = "an iterator over slot " + std::to_string(slot);
  int64_t last = -1;
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
    uint32_t key = 0;
    const std::string text = iterator->key().ToString();
    if (!ParseKey(slot, text, &key) || int64_t{key} <= last) {
      throw std::runtime_error(what + " comes to '" + text +
                               "', which was never written or out of order");
    }
    last = key;
    values[key] = iterator->value().ToString();
  }
  if (!iterator->status().ok()) CountError(what, iterator->status());
  for (uint32_t key = 0; key < kKeys; ++key) {
    const std::string problem = model.Judge(slot, key, values[key]);
    if (!problem.empty()) throw std::runtime_error(problem);
  }
  return values;
}

void Database::LookUp(uint32_t slot, const std::vector<uint32_t>& keys,
                      const Values& values) {
  rocksdb::ColumnFamilyHandle* const family = families[slot].handle;
  // The keys, and an absent one after every third.
  std::vector<std::string> texts;
  std::vector<Value> expected;
  for (size_t i = 0; i < keys.size(); ++i) {
    texts.push_back(DrawKeyText(slot, keys[i], &numbers_));
    expected.push_back(values[keys[i]]);
    if (i % 3 != 0) continue;
    texts.push_back(AbsentKeyText(slot, keys[i]));
    expected.emplace_back();
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    std::string value;
    const Status status = db->Get(ReadOptions(), family, texts[i], &value);
    Compare("Get", slot, texts[i], status, value, expected[i]);
  }
  const std::vector<Slice> slices(texts.begin(), texts.end());
  for (size_t begin = 0, n = 0; begin < texts.size(); begin += n) {
    n = std::min<size_t>(texts.size() - begin, 1 + numbers_.Below(66));
    std::vector<rocksdb::PinnableSlice> found(n);
    std::vector<Status> statuses(n);
    db->MultiGet(ReadOptions(), family, n, &slices[begin], found.data(),
                 statuses.data());
    for (size_t i = 0; i < n; ++i) {
      Compare("MultiGet", slot, texts[begin + i], statuses[i],
              found[i].ToString(), expected[begin + i]);
    }
  }
}

void Database::Iterate(uint32_t slot, uint32_t key, const Values& values) {
  const auto yes = [&] { return numbers_.Below(2) == 0; };
  // The group.
  const uint32_t first = key / kKeysPerGroup * kKeysPerGroup;
  std::string end = KeyText(slot, first).substr(0, kPrefixSize);
  ++end.back();
  Slice upper = end;
  ReadOptions group;
  // Seeks of a part of a prefix need the other mode; whole ones take either.
  group.auto_prefix_mode = yes();
  if (group.auto_prefix_mode || slot == kFoldedSlot) {
    group.iterate_upper_bound = &upper;
  } else {
    group.prefix_same_as_start = true;
  }
  Walk(slot, group, DrawKeyText(slot, first, &numbers_).substr(0, kPrefixSize),
       first, first + kKeysPerGroup, values);
  // A range, without or with its first and last key.
  const uint32_t after_first = yes() ? 1 : 0;
  const uint32_t with_last = yes() ? 1 : 0;
  const uint32_t last = std::min<uint32_t>(
      kKeys - 1, key + static_cast<uint32_t>(numbers_.Below(4)));
  end = with_last ? AbsentKeyText(slot, last) : KeyText(slot, last);
  upper = end;
  ReadOptions range;
  range.auto_prefix_mode = true;
  range.iterate_upper_bound = &upper;
  const std::string start =
      after_first ? AbsentKeyText(slot, key) : KeyText(slot, key);
  Walk(slot, range, start, key + after_first, last + with_last, values);
  Scan(slot, start, end, key + after_first, last + with_last, values);
}

void Database::Scan(uint32_t slot, const std::string& lower,
                    const std::string& upper, uint32_t begin, uint32_t end,
                    const Values& values) {
  ReadOptions read;
  read.total_order_seek = true;
  const Family& family = families[slot];
  const auto scan = family.ranges->NewIterator(db.get(), read, family.handle,
                                               lower, std::string_view(upper));
  std::vector<uint32_t> expected;
  for (uint32_t key = begin; key < end; ++key) {
    if (values[key]) expected.push_back(key);
  }
  const auto expect = [&](const char* direction) {
    const std::string what =
        std::string("a scan ") + direction + " with range filters of slot " +
        std::to_string(slot) + " from '" + lower + "' to '" + upper + "'";
    ++lookups;
    const bool forward = direction == std::string("forward");
    forward ? scan->SeekToFirst() : scan->SeekToLast();
    for (const uint32_t next : expected) {
      if (!scan->Valid() && !scan->status().ok()) break;
      uint32_t at = 0;
      if (!scan->Valid() || !ParseKey(slot, scan->key().ToString(), &at) ||
          at != next || scan->value() != *values[next]) {
        throw std::runtime_error(
            what +
            (scan->Valid() ? " comes to '" + scan->key().ToString() + "'"
                           : " ends") +
            " where key number " + std::to_string(next) + " is next");
      }
      forward ? scan->Next() : scan->Prev();
    }
    if (!scan->status().ok()) return CountError(what, scan->status());
    if (!scan->Valid()) return;
    throw std::runtime_error(what + " comes to '" + scan->key().ToString() +
                             "' at its end");
  };
  expect("forward");
  std::reverse(expected.begin(), expected.end());
  expect("backward");
}

// The keys of [begin, end) that have values, and nothing else, come from
// `start` on. Only an upper bound stops the iterator there.
void Database::Walk(uint32_t slot, const ReadOptions& read,
                    const std::string& start, uint32_t begin, uint32_t end,
                    const Values& values) {
  const auto iterator = NewIterator(slot, read);
  const std::string what =
      "an iterator over slot " + std::to_string(slot) + " from '" + start + "'";
  iterator->Seek(start);
  ++lookups;
  uint32_t at = 0;
  for (uint32_t next = begin; next < end; ++next) {
    if (!values[next]) continue;
    if (!iterator->Valid() && !iterator->status().ok()) break;
    if (!iterator->Valid() ||
        !ParseKey(slot, iterator->key().ToString(), &at) || at != next ||
        iterator->value() != *values[next]) {
      throw std::runtime_error(
          what +
          (iterator->Valid() ? " comes to '" + iterator->key().ToString() + "'"
                             : " ends") +
          " where key number " + std::to_string(next) + " is next");
    }
    iterator->Next();
  }
  if (!iterator->status().ok()) return CountError(what, iterator->status());
  if (!iterator->Valid()) return;
  const std::string extra = iterator->key().ToString();
  if (read.iterate_upper_bound != nullptr || !ParseKey(slot, extra, &at) ||
      at < end) {
    throw std::runtime_error(what + " comes to '" + extra + "' at its end");
  }
}

}  // namespace deltabloom::torture
