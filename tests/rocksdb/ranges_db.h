// Databases with range filters: options, scans of them and what they count.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "deltabloom/rocksdb_ranges.h"
#include "engines/rocksdb/ranges/property.h"
#include "rocksdb/comparator.h"
#include "rocksdb/table_properties.h"
#include "tests/rocksdb/range_scans.h"

namespace deltabloom::testing {

using RangesPtr = std::shared_ptr<RocksDBRanges>;

inline RangesPtr NewRanges(const RocksDBRangeOptions& options = {}) {
  std::string error;
  RangesPtr ranges = RocksDBRanges::New(options, &error);
  EXPECT_NE(ranges, nullptr) << error;
  EXPECT_EQ(error, "");
  return ranges;
}

inline void AddTo(RocksDBRanges* ranges, ColumnFamilyOptions* family) {
  std::string error;
  EXPECT_TRUE(ranges->AddTo(family, &error)) << error;
  EXPECT_EQ(error, "");
}

// The options have no filter policy, so that only range filters skip tables.
inline Options OptionsWith(RocksDBRanges* ranges,
                           const Change& change = nullptr) {
  Options options = MakeOptions({nullptr, false, change});
  if (ranges != nullptr) AddTo(ranges, &options);
  return options;
}

// The keys that a scan meets from the position where it is on.
inline std::vector<std::string> KeysForward(Iterator* at) {
  std::vector<std::string> keys;
  for (; at->Valid(); at->Next()) keys.push_back(at->key().ToString());
  EXPECT_OK(at->status());
  return keys;
}

inline std::vector<std::string> KeysBackward(Iterator* at) {
  std::vector<std::string> keys;
  for (; at->Valid(); at->Prev()) keys.push_back(at->key().ToString());
  EXPECT_OK(at->status());
  return keys;
}

// Returns all keys of a new scan, from the front; from the end they must be the
// same.
inline std::vector<std::string> AllKeys(Iterator* at) {
  at->SeekToFirst();
  const std::vector<std::string> keys = KeysForward(at);
  at->SeekToLast();
  std::vector<std::string> backward = KeysBackward(at);
  std::reverse(backward.begin(), backward.end());
  EXPECT_EQ(backward, keys);
  return keys;
}

// The bytes of the property of each table that has one, by its path.
inline std::vector<std::string> PropertiesIn(
    const rocksdb::TablePropertiesCollection& tables) {
  std::vector<std::string> found;
  for (const auto& [path, table] : tables) {
    const auto& properties = table->user_collected_properties;
    const auto at = properties.find(internal::kRangePropertyName);
    if (at != properties.end()) found.push_back(at->second);
  }
  return found;
}

// Returns what was counted since the last call.
class Counted {
 public:
  explicit Counted(const RangesPtr& ranges) : ranges_(ranges) { Since(); }

  RocksDBRangeStatistics Since() {
    const RocksDBRangeStatistics now = ranges_->Statistics();
    RocksDBRangeStatistics since = now;
    since.scans -= last_.scans;
    since.empty_scans -= last_.empty_scans;
    since.tables -= last_.tables;
    since.tables_rejected -= last_.tables_rejected;
    since.tables_passed_for_nothing -= last_.tables_passed_for_nothing;
    since.tables_without_place -= last_.tables_without_place;
    since.tables_without_filter -= last_.tables_without_filter;
    since.refused -= last_.refused;
    since.filters_built -= last_.filters_built;
    since.tables_built_without -= last_.tables_built_without;
    since.bytes_built -= last_.bytes_built;
    last_ = now;
    return since;
  }

 private:
  const RangesPtr ranges_;
  RocksDBRangeStatistics last_;
};

// Scans of a Key(), of a few in a row, and of tens ask for them.
inline RocksDBRangeOptions OfKeys() {
  RocksDBRangeOptions options;
  options.prefixes = "12,88b,96b";
  return options;
}

// A database with range filters of its default column family.
class RangesDb : public TestDb {
 public:
  explicit RangesDb(const RocksDBRangeOptions& options = OfKeys(),
                    const Change& change = nullptr)
      : ranges(NewRanges(options)), counted(ranges) {
    Open(OptionsWith(ranges.get(), change));
  }

  std::unique_ptr<Iterator> Scan(std::string_view lower,
                                 std::optional<std::string_view> upper,
                                 const ReadOptions& read = {}) const {
    return ranges->NewIterator(get(), read, get()->DefaultColumnFamily(), lower,
                               upper);
  }
  // The keys of a scan in both directions.
  std::vector<std::string> KeysOf(std::string_view lower,
                                  std::optional<std::string_view> upper,
                                  const ReadOptions& read = {}) const {
    return AllKeys(Scan(lower, upper, read).get());
  }
  // Puts the keys and flushes them into a table.
  void Table(const std::vector<std::string>& keys,
             const std::string& value = "value") {
    for (const std::string& key : keys) Put(key, value);
    Flush();
  }

  const RangesPtr ranges;
  Counted counted;
};

using Strings = std::vector<std::string>;

}  // namespace deltabloom::testing
