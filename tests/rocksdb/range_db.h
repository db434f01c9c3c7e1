// Databases with range parts: options, scans, and keys that are numbers.
#ifndef DELTABLOOM_TESTS_ROCKSDB_RANGE_DB_H_
#define DELTABLOOM_TESTS_ROCKSDB_RANGE_DB_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "deltabloom/rocksdb_statistics.h"
#include "rocksdb/comparator.h"
#include "rocksdb/slice_transform.h"
#include "tests/rocksdb/test_db.h"

namespace deltabloom::testing {

// Eight bytes in the order of numbers.
inline std::string NumberKey(uint64_t number) {
  std::string key(8, '\0');
  for (size_t i = 8; i-- > 0; number >>= 8) key[i] = static_cast<char>(number);
  return key;
}

inline const Comparator* BytewiseWithTimestamps() {
  const Comparator* comparator = nullptr;
  EXPECT_OK(Comparator::CreateFromString(
      ConfigOptions(), "leveldb.BytewiseComparator.u64ts", &comparator));
  return comparator;
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

// A seek as a scan makes it.
class Scan {
 public:
  Scan(rocksdb::DB* db, const std::string& upper,
       ColumnFamilyHandle* family = nullptr)
      : upper_(upper), bound_(upper_) {
    options_.auto_prefix_mode = true;
    options_.iterate_upper_bound = &bound_;
    at_.reset(db->NewIterator(
        options_, family == nullptr ? db->DefaultColumnFamily() : family));
  }

  Iterator* get() { return at_.get(); }
  Iterator* operator->() { return at_.get(); }

  // The first key from `lower` on, or "none".
  std::string First(const std::string& lower) {
    at_->Seek(lower);
    return KeyAt(get());
  }

  // Allowed between seeks.
  void MoveUpper(const std::string& upper) {
    upper_ = upper;
    bound_ = upper_;
  }

 private:
  ReadOptions options_;
  std::string upper_;
  Slice bound_;
  std::unique_ptr<Iterator> at_;
};

// Keys that lie kStep apart.
inline constexpr uint64_t kStep = 1'000'000;
inline constexpr uint64_t kKeys = 2000;
inline constexpr int64_t kHalf = kStep / 2;
inline constexpr char kPolicy[] = "id=deltabloom:24;range=on";

inline std::string Nth(uint64_t i, int64_t offset = 0) {
  return NumberKey(i * kStep + static_cast<uint64_t>(offset));
}

inline void LoadNumbers(rocksdb::DB* db, ColumnFamilyHandle* family = nullptr,
                        uint64_t begin = 1, uint64_t step = 1) {
  if (family == nullptr) family = db->DefaultColumnFamily();
  for (uint64_t i = begin; i <= kKeys; i += step) {
    ASSERT_OK(db->Put({}, family, Nth(i), "value"));
  }
  ASSERT_OK(db->Flush({}, family));
}

// Expects that empty ranges are empty, and others not; returns how many were
// looked up in filters and rejected.
inline RocksDBFilterRow ScanAll(rocksdb::DB* db, const Options& options,
                                ColumnFamilyHandle* family = nullptr) {
  const RocksDBFilterRow before = CountedBy(options);
  for (uint64_t i = 1; i <= kKeys; ++i) {
    EXPECT_EQ(Scan(db, Nth(i, kHalf + 1000), family).First(Nth(i, kHalf)),
              "none");
    EXPECT_EQ(Scan(db, Nth(i, 1000), family).First(Nth(i, 1)), "none") << i;
    EXPECT_EQ(Scan(db, Nth(i, 1), family).First(Nth(i, -1000)), Nth(i)) << i;
    EXPECT_EQ(Scan(db, Nth(i, 1), family).First(Nth(i)), Nth(i)) << i;
    if (i < kKeys) {
      EXPECT_EQ(Scan(db, Nth(i + 2), family).First(Nth(i, 1)), Nth(i + 1)) << i;
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
  // Opens the database and loads all numbers, as two tables that overlap.
  void OpenAndLoadTwoTables(const Options& options) {
    db_.Open(options);
    LoadNumbers(db_, nullptr, 1, 2);
    LoadNumbers(db_, nullptr, 2, 2);
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

#endif  // DELTABLOOM_TESTS_ROCKSDB_RANGE_DB_H_
