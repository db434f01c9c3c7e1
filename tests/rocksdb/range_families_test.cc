// Ranges where extractors and column families come and go.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "rocksdb/sst_file_writer.h"
#include "tests/rocksdb/range_db.h"

namespace deltabloom::testing {
namespace {

INSTANTIATE_TEST_SUITE_P(FullAndPartitioned, RangeTest, ::testing::Bool());

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

}  // namespace
}  // namespace deltabloom::testing
