// Databases with range parts: options, scans, and keys that are numbers.
#pragma once

#include "deltabloom/rocksdb_statistics.h"
#include "rocksdb/comparator.h"
#include "tests/rocksdb/test_db.h"

namespace deltabloom::testing {

// Eight bytes in the order of numbers.
inline std::string NumberKey(uint64_t number) {
  std::string key(8, '\0');
  for (size_t i = 8; i-- > 0; number >>= 8) key[i] = static_cast<char>(number);
  return key;
}

// With ranges, as from an OPTIONS file.
inline Options RangeOptions(const std::string& policy, bool partitioned = false,
                            const Change& change = nullptr) {
  Options options =
      MakeOptions({PolicyFromString(policy), partitioned, change});
  EXPECT_OK(rocksdb::SliceTransform::CreateFromString(
      ConfigOptions(), "deltabloom.Range", &options.prefix_extractor));
  EXPECT_NE(options.prefix_extractor, nullptr);
  return options;
}

inline RocksDBFilterRow CountedBy(const Options& options) {
  RocksDBFilterStatistics statistics;
  EXPECT_TRUE(GetRocksDBFilterStatistics(*PolicyIn(options), &statistics));
  return statistics.Total();
}

inline std::string KeyAt(Iterator* at) {
  if (!at->status().ok()) return at->status().ToString();
  return at->Valid() ? at->key().ToString() : "none";
}

// The first key in [lower, upper) as a scan finds it, or "none".
inline std::string First(rocksdb::DB* db, const std::string& lower,
                         const std::string& upper,
                         ColumnFamilyHandle* family = nullptr) {
  const Slice bound = upper;
  ReadOptions read;
  read.auto_prefix_mode = true;
  read.iterate_upper_bound = &bound;
  const std::unique_ptr<Iterator> at(db->NewIterator(
      read, family == nullptr ? db->DefaultColumnFamily() : family));
  at->Seek(lower);
  return KeyAt(at.get());
}

// Keys that lie kStep apart.
inline constexpr uint64_t kStep = 1'000'000;
inline constexpr uint64_t kKeys = 2000;
inline constexpr int64_t kHalf = kStep / 2;
inline constexpr char kPolicy[] = "id=deltabloom:24;range=on";

inline std::string Nth(uint64_t i, int64_t offset = 0) {
  return NumberKey(i * kStep + static_cast<uint64_t>(offset));
}

inline void LoadNumbers(rocksdb::DB* db, ColumnFamilyHandle* family = nullptr,
                        uint64_t begin = 1, uint64_t step = 1,
                        uint64_t end = kKeys) {
  if (family == nullptr) family = db->DefaultColumnFamily();
  for (uint64_t i = begin; i <= end; i += step) {
    ASSERT_OK(db->Put({}, family, Nth(i), "value"));
  }
  ASSERT_OK(db->Flush({}, family));
}

// Expects that empty ranges are empty, and others not; returns how many were
// looked up in filters and rejected.
inline RocksDBFilterRow ScanAll(rocksdb::DB* db, const Options& options,
                                ColumnFamilyHandle* family = nullptr,
                                uint64_t keys = kKeys) {
  const RocksDBFilterRow before = CountedBy(options);
  for (uint64_t i = 1; i <= keys; ++i) {
    EXPECT_EQ(First(db, Nth(i, kHalf), Nth(i, kHalf + 1000), family), "none");
    EXPECT_EQ(First(db, Nth(i, 1), Nth(i, 1000), family), "none") << i;
    EXPECT_EQ(First(db, Nth(i, -1000), Nth(i, 1), family), Nth(i)) << i;
    EXPECT_EQ(First(db, Nth(i), Nth(i, 1), family), Nth(i)) << i;
    if (i < keys) {
      EXPECT_EQ(First(db, Nth(i, 1), Nth(i + 2), family), Nth(i + 1)) << i;
    }
  }
  RocksDBFilterRow counted = CountedBy(options);
  counted.range_lookups -= before.range_lookups;
  counted.range_negatives -= before.range_negatives;
  return counted;
}

// RocksDB 7.0.3 does not look up ranges in partitions, 7.8.3 does.
inline bool AsksPartitions() { return ROCKSDB_MAJOR > 7 || ROCKSDB_MINOR >= 8; }

inline void ExpectAnswers(const RocksDBFilterRow& counted,
                          bool partitioned = false) {
  if (partitioned && !AsksPartitions()) return;
  EXPECT_GE(counted.range_lookups, kKeys);
  EXPECT_GT(counted.range_negatives, kKeys * 9 / 10);
}

// Parameter: partitioned.
class RangeTest : public ::testing::TestWithParam<bool> {
 protected:
  static Options MakeRangeOptions(const Change& change = nullptr) {
    return RangeOptions(kPolicy, GetParam(), change);
  }
  void OpenAndLoad(const Options& options) {
    db_.Open(options);
    LoadNumbers(db_);
  }
  RocksDBFilterRow ScanAll() { return testing::ScanAll(db_, db_.options()); }
  void ExpectAnswers() { testing::ExpectAnswers(ScanAll(), GetParam()); }
  void ExpectNoLookups() { EXPECT_EQ(ScanAll().range_lookups, 0u); }

  TestDb db_;
};

}  // namespace deltabloom::testing
