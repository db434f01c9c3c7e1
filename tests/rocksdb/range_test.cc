// Ranges in real databases: what RocksDB does around a filter's answer, one
// thing at a time. range_differential_test.cc mixes them.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/rocksdb/range_db.h"

namespace deltabloom::testing {
namespace {

INSTANTIATE_TEST_SUITE_P(FullAndPartitioned, RangeTest, ::testing::Bool());

TEST_P(RangeTest, SkipsTablesOfEmptyRangesAlsoAfterReopen) {
  const rocksdb::Options options = MakeRangeOptions();
  auto db = Open(options, Path());
  LoadNumbers(db.get(), nullptr, 1, 2);
  LoadNumbers(db.get(), nullptr, 2, 2);
  ExpectAnswers(ScanAll(db.get(), options), GetParam());
  db.reset();
  db = Open(options, Path());
  ExpectAnswers(ScanAll(db.get(), options), GetParam());
  ASSERT_ROCKSDB_OK(db->CompactRange({}, nullptr, nullptr));
  ExpectAnswers(ScanAll(db.get(), options), GetParam());
  ExpectNoneMissed(GetAll(db.get(), 0, 0));
}

TEST_P(RangeTest, OtherSeeksAskNoRange) {
  const rocksdb::Options options = MakeRangeOptions();
  const auto db = Open(options, Path());
  LoadNumbers(db.get());
  rocksdb::ReadOptions without;  // no bound
  without.auto_prefix_mode = true;
  rocksdb::ReadOptions plain;  // not auto_prefix_mode
  const std::string upper = Nth(5, 1000);
  const rocksdb::Slice bound = upper;
  plain.iterate_upper_bound = &bound;
  rocksdb::ReadOptions total = plain;
  total.total_order_seek = true;
  for (const rocksdb::ReadOptions& read : {without, plain, total}) {
    const std::unique_ptr<rocksdb::Iterator> at(db->NewIterator(read));
    at->Seek(Nth(4, 1));
    ASSERT_TRUE(at->Valid());
    EXPECT_EQ(at->key(), Nth(5));
    at->Prev();
    ASSERT_TRUE(at->Valid());
    EXPECT_EQ(at->key(), Nth(4));
    at->SeekForPrev(Nth(4, -1));
    ASSERT_TRUE(at->Valid());
    EXPECT_EQ(at->key(), Nth(3));
  }
  EXPECT_EQ(CountedBy(options).range_lookups, 0u);
}

TEST_P(RangeTest, BackwardsAndWithMovedBounds) {
  const rocksdb::Options options = MakeRangeOptions();
  const auto db = Open(options, Path());
  LoadNumbers(db.get(), nullptr, 1, 2);
  LoadNumbers(db.get(), nullptr, 2, 2);
  Scan scan(db.get(), Nth(11));
  for (uint64_t i = 10; i < 1000; i += 7) {
    scan.MoveUpper(Nth(i, 900));
    EXPECT_EQ(scan.First(Nth(i, 5)), "none");
    scan.MoveUpper(Nth(i + 2, 1));
    EXPECT_EQ(scan.First(Nth(i, 5)), Nth(i + 1));
    scan->Prev();
    ASSERT_TRUE(scan->Valid());
    EXPECT_EQ(scan->key(), Nth(i));
    scan->Prev();
    ASSERT_TRUE(scan->Valid());
    EXPECT_EQ(scan->key(), Nth(i - 1));
    scan->Next();
    scan->Next();
    scan->Next();
    ASSERT_TRUE(scan->Valid());
    EXPECT_EQ(scan->key(), Nth(i + 2));
    scan->SeekForPrev(Nth(i, -1));
    ASSERT_TRUE(scan->Valid());
    EXPECT_EQ(scan->key(), Nth(i - 1));
    scan->SeekToLast();
    ASSERT_TRUE(scan->Valid());
    EXPECT_EQ(scan->key(), Nth(i + 2));
  }
}

TEST_P(RangeTest, RangesOverPartitionsAndTables) {
  rocksdb::Options options = MakeRangeOptions();
  options.target_file_size_base = 16 << 10;
  options.disable_auto_compactions = false;
  const auto db = Open(options, Path());
  LoadNumbers(db.get(), nullptr, 1, 2);
  LoadNumbers(db.get(), nullptr, 2, 2);
  ASSERT_ROCKSDB_OK(db->CompactRange({}, nullptr, nullptr));
  for (uint64_t i = 1; i + 60 < kKeys; i += 3) {
    Scan scan(db.get(), Nth(i + 50, 1));
    uint64_t expected = i + 1;
    for (scan->Seek(Nth(i, 1)); scan->Valid(); scan->Next()) {
      ASSERT_EQ(scan->key(), Nth(expected++));
    }
    EXPECT_EQ(expected, i + 51);
  }
}

TEST_P(RangeTest, TheEmptyKey) {
  const rocksdb::Options options = MakeRangeOptions();
  const auto db = Open(options, Path());
  std::string value;
  LoadNumbers(db.get());
  EXPECT_EQ(Scan(db.get(), Nth(3, 9)).First(Nth(3, 1)), "none");
  EXPECT_TRUE(db->Get({}, "", &value).IsNotFound());
  EXPECT_EQ(Scan(db.get(), Nth(3)).First(""), Nth(1));
  ASSERT_ROCKSDB_OK(db->Put({}, "", "empty"));
  LoadNumbers(db.get());
  EXPECT_EQ(Scan(db.get(), Nth(1)).First(""), "");
  EXPECT_EQ(Scan(db.get(), Nth(3, 9)).First(Nth(3, 1)), "none");
  ASSERT_ROCKSDB_OK(db->Get({}, "", &value));
  EXPECT_EQ(value, "empty");
  rocksdb::Slice keys[2] = {"", "x"};
  rocksdb::PinnableSlice values[2];
  rocksdb::Status statuses[2];
  Scan(db.get(), Nth(3, 9)).First(Nth(3, 1));
  db->MultiGet({}, db->DefaultColumnFamily(), 2, keys, values, statuses);
  EXPECT_ROCKSDB_OK(statuses[0]);
  EXPECT_TRUE(statuses[1].IsNotFound());
  ScanAll(db.get(), options);
}

TEST_P(RangeTest, DeletesAndRangeDeletes) {
  const rocksdb::Options options = MakeRangeOptions();
  const auto db = Open(options, Path());
  LoadNumbers(db.get());
  for (uint64_t i = 100; i < 200; ++i) {
    ASSERT_ROCKSDB_OK(db->Delete({}, Nth(i)));
  }
  ASSERT_ROCKSDB_OK(db->Flush({}));
  ASSERT_ROCKSDB_OK(
      db->DeleteRange({}, db->DefaultColumnFamily(), Nth(300), Nth(400)));
  ASSERT_ROCKSDB_OK(db->Put({}, Nth(350, 7), "value"));
  ASSERT_ROCKSDB_OK(db->Flush({}));
  for (int round = 0; round < 2; ++round) {
    for (uint64_t i = 100; i < 199; ++i) {
      EXPECT_EQ(Scan(db.get(), Nth(i + 1, 1)).First(Nth(i)), "none");
    }
    EXPECT_EQ(Scan(db.get(), Nth(201)).First(Nth(99, 1)), Nth(200));
    EXPECT_EQ(Scan(db.get(), Nth(401)).First(Nth(299, 1)), Nth(350, 7));
    EXPECT_EQ(Scan(db.get(), Nth(401)).First(Nth(350, 8)), Nth(400));
    EXPECT_EQ(Scan(db.get(), Nth(350, 7)).First(Nth(300)), "none");
    ASSERT_ROCKSDB_OK(db->CompactRange({}, nullptr, nullptr));
  }
}

// Filters of RocksDB's own are asked for the prefix and cannot know ranges; a
// seek that meets them leaves nothing behind for the next filter.
TEST_P(RangeTest, BesideFiltersOfRocksDB) {
  rocksdb::Options options = MakeRangeOptions();
  rocksdb::Options builtin = options;
  auto table =
      *options.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
  table.filter_policy = RocksDBBloom();
  builtin.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  {
    const auto db = Open(builtin, Path());
    LoadNumbers(db.get(), nullptr, 1, 2);
  }
  const auto db = Open(options, Path());
  LoadNumbers(db.get(), nullptr, 2, 2);
  ExpectAnswers(ScanAll(db.get(), options), GetParam());
}

TEST_P(RangeTest, WithoutFilterBlocksInTheCache) {
  rocksdb::Options options = MakeRangeOptions();
  const auto db = Open(options, Path());
  LoadNumbers(db.get());
  rocksdb::ReadOptions read;
  read.auto_prefix_mode = true;
  read.read_tier = rocksdb::kBlockCacheTier;
  std::string value;
  for (uint64_t i = 1; i < 50; ++i) {
    const std::string upper = Nth(i, 100);
    const rocksdb::Slice bound = upper;
    read.iterate_upper_bound = &bound;
    const std::unique_ptr<rocksdb::Iterator> at(db->NewIterator(read));
    at->Seek(Nth(i));  // incomplete, or the key
    if (at->Valid()) {
      EXPECT_EQ(at->key(), Nth(i));
    }
    EXPECT_EQ(at->Valid(), at->status().ok());
    EXPECT_TRUE(db->Get({}, "", &value).IsNotFound());
  }
}

TEST_P(RangeTest, WithoutWholeKeysThereAreNone) {
  rocksdb::Options options = MakeRangeOptions();
  auto table =
      *options.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
  table.whole_key_filtering = false;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.memtable_prefix_bloom_size_ratio = 0.1;
  const auto db = Open(options, Path());
  LoadNumbers(db.get());
  EXPECT_EQ(ScanAll(db.get(), options).range_lookups, 0u);
  std::string value;
  for (uint64_t i = 1; i < 100; ++i) {
    // Two Gets make the calls of a seek from the first key to the second.
    EXPECT_ROCKSDB_OK(db->Get({}, Nth(i), &value));
    EXPECT_TRUE(db->Get({}, Nth(i, 9), &value).IsNotFound());
    EXPECT_ROCKSDB_OK(db->Get({}, Nth(i + 1), &value));
  }
}

TEST_P(RangeTest, WithTheMemtablesBloomFilter) {
  rocksdb::Options options = MakeRangeOptions();
  options.memtable_prefix_bloom_size_ratio = 0.1;
  const auto db = Open(options, Path());
  LoadNumbers(db.get(), nullptr, 1, 2);
  for (uint64_t i = 2; i <= kKeys; i += 2) {
    ASSERT_ROCKSDB_OK(db->Put({}, Nth(i), "value"));
    EXPECT_EQ(Scan(db.get(), Nth(i, 9)).First(Nth(i)), Nth(i));
    EXPECT_EQ(Scan(db.get(), Nth(i, 9)).First(Nth(i, 1)), "none");
  }
  ScanAll(db.get(), options);
}

TEST_P(RangeTest, Timestamps) {
  rocksdb::Options options = MakeRangeOptions();
  options.comparator = TimestampComparator();
  ASSERT_NE(options.comparator, nullptr);
  const auto db = Open(options, Path());
  const std::string early(8, '\1');
  const std::string late(8, '\2');
  for (uint64_t i = 1; i <= kKeys; ++i) {
    ASSERT_ROCKSDB_OK(db->Put({}, Nth(i), early, "value"));
    if (i % 3 == 0) {
      ASSERT_ROCKSDB_OK(db->Put({}, Nth(i), late, "value"));
    }
    if (i % 3 == 1) {
      ASSERT_ROCKSDB_OK(db->Delete({}, Nth(i), late));
    }
  }
  ASSERT_ROCKSDB_OK(db->Flush({}));
  rocksdb::ReadOptions read;
  read.auto_prefix_mode = true;
  const rocksdb::Slice at_late = late;
  const rocksdb::Slice at_early = early;
  for (uint64_t i = 1; i < kKeys; ++i) {
    std::string upper = Nth(i, 1000);
    const rocksdb::Slice bound = upper;
    read.iterate_upper_bound = &bound;
    read.timestamp = &at_late;
    std::unique_ptr<rocksdb::Iterator> at(db->NewIterator(read));
    at->Seek(Nth(i, -1000));
    EXPECT_EQ(at->Valid(), i % 3 != 1);
    at->Seek(Nth(i, 1));
    EXPECT_FALSE(at->Valid());
    upper = Nth(i, kHalf + 1000);
    const rocksdb::Slice behind = upper;
    read.iterate_upper_bound = &behind;
    at.reset(db->NewIterator(read));
    at->Seek(Nth(i, kHalf));
    EXPECT_FALSE(at->Valid());
    upper = Nth(i, 1000);
    read.timestamp = &at_early;
    at.reset(db->NewIterator(read));
    at->Seek(Nth(i, -1000));
    ASSERT_TRUE(at->Valid());
    EXPECT_EQ(at->key(), Nth(i));
  }
  ExpectAnswers(CountedBy(options), GetParam());
}

TEST_P(RangeTest, TailingIterators) {
  const rocksdb::Options options = MakeRangeOptions();
  const auto db = Open(options, Path());
  LoadNumbers(db.get(), nullptr, 1, 2);
  rocksdb::ReadOptions read;
  read.auto_prefix_mode = true;
  read.tailing = true;
  const std::string upper = Nth(900, 1);
  const rocksdb::Slice bound = upper;
  read.iterate_upper_bound = &bound;
  const std::unique_ptr<rocksdb::Iterator> at(db->NewIterator(read));
  for (uint64_t i = 801; i < 899; i += 2) {
    at->Seek(Nth(i, 1));
    ASSERT_TRUE(at->Valid());
    EXPECT_EQ(at->key(), Nth(i + 2));
    ASSERT_ROCKSDB_OK(db->Put({}, Nth(i + 1), "value"));
    if (i % 3 == 0) ASSERT_ROCKSDB_OK(db->Flush({}));
    at->Seek(Nth(i, 1));
    ASSERT_TRUE(at->Valid());
    EXPECT_EQ(at->key(), Nth(i + 1));
  }
  at->Seek(Nth(899, 1));
  EXPECT_FALSE(at->Valid());
}

}  // namespace
}  // namespace deltabloom::testing
