// Ranges in real databases: what RocksDB does around a filter's answer, one
// thing at a time. range_differential_test.cc mixes them.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "rocksdb/sst_file_writer.h"
#include "tests/rocksdb/range_db.h"

namespace deltabloom::testing {
namespace {

constexpr uint64_t kStep = 1'000'000;
constexpr uint64_t kKeys = 2000;
constexpr int64_t kHalf = kStep / 2;
constexpr char kPolicy[] = "deltabloom:24:range";

std::string Nth(uint64_t i, int64_t offset = 0) {
  return NumberKey(i * kStep + static_cast<uint64_t>(offset));
}

void LoadNumbers(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family = nullptr,
                 uint64_t begin = 1, uint64_t step = 1) {
  if (family == nullptr) family = db->DefaultColumnFamily();
  for (uint64_t i = begin; i <= kKeys; i += step) {
    ASSERT_ROCKSDB_OK(db->Put({}, family, Nth(i), "value"));
  }
  ASSERT_ROCKSDB_OK(db->Flush({}, family));
}

// That empty ranges are empty, and others not; returns how many were asked and
// turned away.
RocksDBFilterRow ScanAll(rocksdb::DB* db, const rocksdb::Options& options,
                         rocksdb::ColumnFamilyHandle* family = nullptr) {
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

// From 7.0 to 7.2 RocksDB does not ask partitions.
bool AsksPartitions() { return ROCKSDB_MAJOR > 7 || ROCKSDB_MINOR > 2; }

void ExpectAnswers(const RocksDBFilterRow& counted, bool partitioned = false) {
  if (partitioned && !AsksPartitions()) return;
  EXPECT_GE(counted.range_lookups, kKeys);
  EXPECT_GT(counted.range_negatives, kKeys * 9 / 10);
}

class RangeTest : public ::testing::TestWithParam<bool> {
 protected:
  rocksdb::Options MakeRangeOptions() {
    return RangeOptions(kPolicy, GetParam());
  }
  std::string Path() { return dir_.Path("db"); }

  TempDir dir_;
};

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

// The extractor of the column family changes; tables keep theirs.
TEST_P(RangeTest, AnotherExtractorAtRunTime) {
  rocksdb::Options options = MakeRangeOptions();
  auto db = Open(options, Path());
  LoadNumbers(db.get(), nullptr, 1, 2);
  ASSERT_ROCKSDB_OK(
      db->SetOptions({{"prefix_extractor", "rocksdb.FixedPrefix.3"}}));
  LoadNumbers(db.get(), nullptr, 2, 2);
  ScanAll(db.get(), options);
  db.reset();
  options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(4));
  db = Open(options, Path());
  ScanAll(db.get(), options);
  db.reset();
  options.prefix_extractor = MakeRangeOptions().prefix_extractor;
  db = Open(options, Path());
  ScanAll(db.get(), options);
  ASSERT_ROCKSDB_OK(db->CompactRange({}, nullptr, nullptr));
}

TEST_P(RangeTest, AnExtractorOfTheUsersOwnHasNone) {
  rocksdb::Options options = MakeRangeOptions();
  options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(5));
  const auto db = Open(options, Path());
  LoadNumbers(db.get());
  EXPECT_EQ(ScanAll(db.get(), options).range_lookups, 0u);
  EXPECT_NE(ReadFile(dir_.Path("db/LOG"))
                .find("range=on, and a filter has no range part: the column "
                      "family lacks prefix_extractor=deltabloom.Range"),
            std::string::npos);
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

TEST_P(RangeTest, IngestedTables) {
  const rocksdb::Options options = MakeRangeOptions();
  const auto db = Open(options, Path());
  rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options);
  ASSERT_ROCKSDB_OK(writer.Open(dir_.Path("table.sst")));
  for (uint64_t i = 1; i <= kKeys; ++i) {
    ASSERT_ROCKSDB_OK(writer.Put(Nth(i), "value"));
  }
  ASSERT_ROCKSDB_OK(writer.Finish());
  ASSERT_ROCKSDB_OK(db->IngestExternalFile({dir_.Path("table.sst")}, {}));
  ExpectAnswers(ScanAll(db.get(), options), GetParam());
}

// RocksDB validates no options there: CheckRocksDBFilters does.
TEST_P(RangeTest, ColumnFamiliesMadeLater) {
  rocksdb::Options options = MakeRangeOptions();
  const auto db = Open(options, Path());
  rocksdb::ColumnFamilyOptions unknown = RangeOptions(kPolicy, GetParam());
  rocksdb::ColumnFamilyHandle* family = nullptr;
  ASSERT_ROCKSDB_OK(db->CreateColumnFamily(unknown, "unknown", &family));
  LoadNumbers(db.get(), family);
  EXPECT_EQ(
      ScanAll(db.get(), rocksdb::Options(rocksdb::DBOptions(), unknown), family)
          .range_lookups,
      0u)
      << "nobody looked at the comparator";
  ASSERT_ROCKSDB_OK(db->DestroyColumnFamilyHandle(family));

  rocksdb::ColumnFamilyOptions checked = RangeOptions(kPolicy, GetParam());
  std::string error;
  ASSERT_TRUE(CheckRocksDBFilters(checked, &error)) << error;
  ASSERT_ROCKSDB_OK(db->CreateColumnFamily(checked, "checked", &family));
  LoadNumbers(db.get(), family);
  ExpectAnswers(
      ScanAll(db.get(), rocksdb::Options(rocksdb::DBOptions(), checked),
              family),
      GetParam());
  ASSERT_ROCKSDB_OK(db->DestroyColumnFamilyHandle(family));

  RocksDBFilterOptions filters;
  filters.bits_per_key = 24;
  filters.range = true;
  rocksdb::ColumnFamilyOptions added;
  ASSERT_TRUE(AddRocksDBFilters(filters, nullptr, &added, &error)) << error;
  ASSERT_ROCKSDB_OK(db->CreateColumnFamily(added, "added", &family));
  LoadNumbers(db.get(), family);
  ExpectAnswers(
      ScanAll(db.get(), rocksdb::Options(rocksdb::DBOptions(), added), family));
  ASSERT_ROCKSDB_OK(db->DestroyColumnFamilyHandle(family));
}

TEST_P(RangeTest, ReadOnlyInstances) {
  rocksdb::Options options = MakeRangeOptions();
  LoadNumbers(Open(options, Path()).get());
  options = MakeRangeOptions();
  std::unique_ptr<rocksdb::DB> db;
  {
    OpensInto into(&db);
    ASSERT_ROCKSDB_OK(rocksdb::DB::OpenForReadOnly(options, Path(), into));
  }
  EXPECT_EQ(ScanAll(db.get(), options).range_lookups, 0u);
  std::string error;
  ASSERT_TRUE(CheckRocksDBFilters(options, &error)) << error;
  ExpectAnswers(ScanAll(db.get(), options), GetParam());
}

TEST_P(RangeTest, RangesOffAsksNone) {
  rocksdb::Options options = MakeRangeOptions();
  LoadNumbers(Open(options, Path()).get());
  rocksdb::Options off = RangeOptions("deltabloom:24:auto", GetParam());
  const auto db = Open(off, Path());
  EXPECT_EQ(ScanAll(db.get(), off).range_lookups, 0u);
  EXPECT_EQ(CountedBy(off).range_lookups, 0u);
}

// A comparator of another order, with whose bounds in the order of bytes.
class ByLength : public rocksdb::Comparator {
 public:
  const char* Name() const override { return "ByLength"; }
  int Compare(const rocksdb::Slice& a, const rocksdb::Slice& b) const override {
    if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
    return a.compare(b);
  }
  void FindShortestSeparator(std::string*,
                             const rocksdb::Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}
};

TEST(RangeConflictTest, OtherOrdersAreRefused) {
  static const ByLength by_length;
  const TempDir dir;
  std::string error;
  for (const rocksdb::Comparator* comparator :
       {static_cast<const rocksdb::Comparator*>(&by_length),
        rocksdb::ReverseBytewiseComparator()}) {
    const std::string text = std::string(
                                 "range=on needs keys in the order of "
                                 "their bytes, and comparator ") +
                             comparator->Name() + " has another";
    rocksdb::Options options = RangeOptions(kPolicy);
    options.comparator = comparator;
    std::unique_ptr<rocksdb::DB> db;
    rocksdb::Status status;
    {
      OpensInto into(&db);
      status = rocksdb::DB::Open(options, dir.Path("db"), into);
    }
    EXPECT_TRUE(status.IsInvalidArgument());
    EXPECT_NE(status.ToString().find(text), std::string::npos)
        << status.ToString();
    EXPECT_FALSE(CheckRocksDBFilters(options, &error));
    EXPECT_NE(error.find(text), std::string::npos) << error;

    RocksDBFilterOptions filters;
    filters.range = true;
    rocksdb::Options unchanged;
    unchanged.comparator = comparator;
    EXPECT_FALSE(AddRocksDBFilters(filters, &unchanged, &unchanged, &error));
    EXPECT_NE(error.find(text), std::string::npos) << error;
    EXPECT_EQ(unchanged.prefix_extractor, nullptr);
    EXPECT_TRUE(unchanged.listeners.empty());
  }
}

// Even unchecked nothing is lost: keys do not ascend bytewise.
TEST(RangeConflictTest, OtherOrdersInColumnFamiliesMadeLaterLoseNothing) {
  static const ByLength by_length;
  const TempDir dir;
  rocksdb::Options options = RangeOptions(kPolicy);
  const auto db = Open(options, dir.Path("db"));
  rocksdb::ColumnFamilyOptions other = options;  // with its extractor
  other.comparator = &by_length;
  rocksdb::ColumnFamilyHandle* family = nullptr;
  ASSERT_ROCKSDB_OK(db->CreateColumnFamily(other, "other", &family));
  for (const char* key : {"b", "z", "aa", "az", "bbb"}) {
    ASSERT_ROCKSDB_OK(db->Put({}, family, key, "value"));
  }
  ASSERT_ROCKSDB_OK(db->Flush({}, family));
  EXPECT_EQ(Scan(db.get(), "zz", family).First("c"), "z");
  EXPECT_EQ(Scan(db.get(), "zzz", family).First("ba"), "bbb");
  ASSERT_ROCKSDB_OK(db->DestroyColumnFamilyHandle(family));
}

TEST(RangeConflictTest, HashIndexIsRefused) {
  DbConfig config;
  config.policy = PolicyFromString(kPolicy);
  config.change = [](rocksdb::Options*,
                     rocksdb::BlockBasedTableOptions* table) {
    table->index_type = rocksdb::BlockBasedTableOptions::kHashSearch;
  };
  rocksdb::Options options = MakeOptions(config);
  options.prefix_extractor = NewRocksDBRangeExtractor();
  std::string error;
  EXPECT_FALSE(CheckRocksDBFilters(options, &error));
  EXPECT_NE(error.find("index_type kHashSearch"), std::string::npos) << error;
}

TEST(RangeConflictTest, AnExtractorThatIsSetStays) {
  RocksDBFilterOptions filters;
  filters.range = true;
  rocksdb::Options options;
  options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(4));
  std::string error;
  EXPECT_FALSE(AddRocksDBFilters(filters, &options, &options, &error));
  EXPECT_NE(error.find("prefix_extractor rocksdb.FixedPrefix"),
            std::string::npos)
      << error;
  options.prefix_extractor = NewRocksDBRangeExtractor(&error);
  EXPECT_TRUE(AddRocksDBFilters(filters, &options, &options, &error)) << error;
}

}  // namespace
}  // namespace deltabloom::testing
