// allocation=levels on real databases: with its listener and without, through
// OPTIONS files, several column families, existing databases.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "rocksdb/sst_file_reader.h"
#include "rocksdb/sst_file_writer.h"
#include "rocksdb/utilities/options_util.h"
#include "tests/rocksdb/levels_db.h"

namespace deltabloom::testing {
namespace {

using rocksdb::ColumnFamilyHandle;
using rocksdb::Options;

constexpr char kWhatToAdd[] = "add listeners=deltabloom";

size_t CountIn(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

// How much of the best gain: compactions that run apart, and filters whose size
// optimize_filters_for_memory varies, leave 0.78 now and then; uniform bits
// have 0.4 of it in these trees.
constexpr double kOfTheBest = 0.7;

TEST(LevelsTest, RandomLoadGetsTheGainAtTheBytesAsked) {
  for (const Layout layout : {Layout::kLocal, Layout::kAuto}) {
    LevelsDb db;
    db.Open(SmallTrees(), LevelsOptions(layout));
    for (uint64_t i = 0; i < 50'000; ++i) db.Put(Scattered(i));
    db.Settle();
    const MeasuredTree tree = db.Measured();
    SCOPED_TRACE(tree.text);
    EXPECT_GE(tree.runs, 3u);
    EXPECT_NEAR(tree.bits, 10, 0.5);
    EXPECT_GT(tree.Gain(), kOfTheBest * tree.BestGain());
  }
}

TEST(LevelsTest, ReadBackAsJsonAndInTheLog) {
  LevelsDb db;
  db.Open(SmallTrees(), LevelsOptions());
  for (uint64_t i = 0; i < 20'000; ++i) db.Put(Scattered(i));
  db.Settle();
  const std::string json = RocksDBFilterLevelsJson();
  for (const std::string& part :
       {"{\"databases\":[{\"path\":\"" + db.path() + "\",",
        std::string("\"column_families\":[{\"name\":\"default\","
                    "\"allocation\":\"levels\",\"layout\":\"compact\","
                    "\"bits_per_key\":{\"asked\":10,\"on_disk\":"),
        std::string("\"false_positives_per_lookup\":{\"expected\":"),
        std::string("\"writes\":[{\"as\":\"flush\",\"bits_per_key\":"),
        std::string("{\"as\":\"last run\",\"bits_per_key\":"),
        std::string("\"runs\":[{\"level\":")}) {
    EXPECT_NE(json.find(part), std::string::npos) << part << "\n" << json;
  }
  const size_t lines = CountIn(
      db.Log(), "[deltabloom] levels of column family default: bits per key");
  EXPECT_GE(lines, 1u);
  // Some 400 tables were written.
  EXPECT_LT(lines, 100u);
  EXPECT_EQ(db.Log().find(kWhatToAdd), std::string::npos);
  db.Close();
  EXPECT_EQ(RocksDBFilterLevelsJson(), "{\"databases\":[]}");
}

// Half of it and twice as much at most, for the tree grows.
TEST(LevelsTest, ByRateAllRunsTogetherHaveIt) {
  RocksDBFilterOptions filters = LevelsOptions();
  filters.false_positive_rate = 0.004;
  LevelsDb db;
  db.Open(SmallTrees(), filters);
  for (uint64_t i = 0; i < 100'000; ++i) db.Put(Scattered(i));
  db.Settle();
  const MeasuredTree tree = db.Measured();
  SCOPED_TRACE(tree.text);
  EXPECT_GE(tree.runs, 3u);
  EXPECT_GT(tree.rates, 0.002);
  EXPECT_LT(tree.rates, 0.008);
}

TEST(LevelsTest, WithoutTheListenerBitsAreUniformAndTheLogSaysWhatToAdd) {
  Options options = SmallTrees();
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy = NewRocksDBFilterPolicy(LevelsOptions());
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  LevelsDb db;
  db.Reopen(options);
  for (uint64_t i = 0; i < 20'000; ++i) db.Put(Scattered(i));
  db.Settle();
  const MeasuredTree tree = db.Measured();
  SCOPED_TRACE(tree.text);
  // optimize_filters_for_memory, on by default from 9.2 on, varies sizes.
  EXPECT_NEAR(tree.payload_bits, 10, 0.3);
  EXPECT_NEAR(tree.Gain(), 1, 0.25);
  EXPECT_EQ(CountIn(db.Log(), kWhatToAdd), 1u);
}

TEST(LevelsTest, OptionsFileBringsPolicyAndListener) {
  LevelsDb db;
  db.Open(SmallTrees(), LevelsOptions(Layout::kAuto));
  db.Put("key");
  db.Settle();
  db.Close();
  rocksdb::DBOptions db_options;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  rocksdb::ConfigOptions strict;
  strict.ignore_unknown_options = false;
  strict.ignore_unsupported_options = false;
  ASSERT_ROCKSDB_OK(
      rocksdb::LoadLatestOptions(strict, db.path(), &db_options, &families));
  const Options loaded(db_options, families.at(0).options);
  ASSERT_EQ(loaded.listeners.size(), 1u);
  EXPECT_STREQ(loaded.listeners[0]->Name(), "deltabloom");
  EXPECT_EQ(Option(*PolicyIn(loaded), "allocation"), "levels");
  db.Reopen(loaded);
  for (uint64_t i = 0; i < 5'000; ++i) db.Put(Scattered(i));
  db.Settle();
  EXPECT_NE(RocksDBFilterLevelsJson().find("\"allocation\":\"levels\""),
            std::string::npos);
  EXPECT_EQ(db.Log().find(kWhatToAdd), std::string::npos);
  std::shared_ptr<rocksdb::EventListener> listener;
  ASSERT_ROCKSDB_OK(rocksdb::EventListener::CreateFromString(
      strict, "deltabloom", &listener));
  EXPECT_STREQ(listener->Name(), "deltabloom");
}

TEST(LevelsTest, AddRocksDBFiltersChangesAllOrNothing) {
  Options options;
  rocksdb::BlockBasedTableOptions table;
  table.block_size = 12345;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  std::string error;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(AddRocksDBFilters(LevelsOptions(), &options, &options, &error))
        << error;
    EXPECT_EQ(options.listeners.size(), 1u);
    EXPECT_EQ(
        options.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>()
            ->block_size,
        12345u);
  }
  Options plain;
  plain.table_factory.reset(rocksdb::NewPlainTableFactory());
  EXPECT_FALSE(AddRocksDBFilters(LevelsOptions(), &plain, &plain, &error));
  EXPECT_NE(error.find("block-based"), std::string::npos) << error;
  EXPECT_EQ(plain.listeners.size(), 0u);
  Options wrong;
  EXPECT_FALSE(AddRocksDBFilters(LevelsOptions(Layout::kAuto, -1), &wrong,
                                 &wrong, &error));
  EXPECT_NE(error.find("out of range"), std::string::npos) << error;
  EXPECT_EQ(wrong.listeners.size(), 0u);
  EXPECT_FALSE(
      AddRocksDBFilters(LevelsOptions(Layout::kAuto, -1), &wrong, &wrong));
}

// Two column families share a policy, the third has one of its own and the
// fourth another allocation; each has its own tree.
TEST(LevelsTest, EachColumnFamilyHasItsTree) {
  LevelsDb db;
  const Options options = SmallTrees();
  db.Open(options, LevelsOptions());
  std::vector<ColumnFamilyHandle*> handles;
  Options other = options;
  ASSERT_TRUE(
      AddRocksDBFilters(LevelsOptions(Layout::kLocal, 16), &other, &other));
  Options uniform = options;
  RocksDBFilterOptions plain;
  plain.layout = Layout::kCompact;
  ASSERT_TRUE(AddRocksDBFilters(plain, &uniform, &uniform));
  for (const auto& [name, family] :
       {std::make_pair("small", db.options()), std::make_pair("other", other),
        std::make_pair("uniform", uniform)}) {
    ColumnFamilyHandle* handle = nullptr;
    ASSERT_ROCKSDB_OK(db.db()->CreateColumnFamily(family, name, &handle));
    handles.push_back(handle);
  }
  for (uint64_t i = 0; i < 30'000; ++i) {
    db.Put(Scattered(i));
    for (size_t k = 0; k < 3; ++k) {
      if (k == 0 && i % 10 != 0) continue;
      ASSERT_ROCKSDB_OK(db.db()->Put({}, handles[k], Scattered(i), "0123456"));
    }
  }
  db.Settle();
  for (ColumnFamilyHandle* handle : handles) {
    ASSERT_ROCKSDB_OK(db.db()->Flush({}, handle));
  }
  WaitForCompactions(db.db());
  EXPECT_NEAR(db.Measured().bits, 10, 0.5) << db.Measured().text;
  const MeasuredTree small = Measure(db.db(), handles[0], Layout::kCompact);
  EXPECT_NEAR(small.bits, 10, 1) << small.text;
  const MeasuredTree third = Measure(db.db(), handles[1], Layout::kLocal);
  EXPECT_NEAR(third.bits, 16, 0.8) << third.text;
  EXPECT_GT(third.Gain(), kOfTheBest * third.BestGain()) << third.text;
  const MeasuredTree fourth = Measure(db.db(), handles[2], Layout::kCompact);
  EXPECT_NEAR(fourth.payload_bits, 10, 0.3) << fourth.text;
  const std::string json = RocksDBFilterLevelsJson();
  EXPECT_NE(json.find("\"name\":\"uniform\",\"allocation\":null"),
            std::string::npos)
      << json;
  EXPECT_NE(json.find("\"name\":\"other\",\"allocation\":\"levels\",\"layout\":"
                      "\"local\",\"bits_per_key\":{\"asked\":16"),
            std::string::npos)
      << json;
  // A column family that is dropped is forgotten in time.
  ASSERT_ROCKSDB_OK(db.db()->DropColumnFamily(handles[2]));
  for (ColumnFamilyHandle* handle : handles) {
    ASSERT_ROCKSDB_OK(db.db()->DestroyColumnFamilyHandle(handle));
  }
  for (uint64_t i = 0; i < 2'000; ++i) {
    db.Put(Scattered(i));
    if (i % 100 == 0) db.Settle();
  }
  EXPECT_EQ(RocksDBFilterLevelsJson().find("\"name\":\"uniform\""),
            std::string::npos);
}

// From RocksDB's Bloom filter, and from uniform; and what was learned is
// learned again when the database is reopened.
TEST(LevelsTest, ExistingDatabases) {
  Options bloom = SmallTrees();
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy = RocksDBBloom();
  bloom.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  LevelsDb db;
  db.Reopen(bloom);
  for (uint64_t i = 0; i < 30'000; ++i) db.Put(Scattered(i));
  db.Settle();
  db.Open(SmallTrees(), LevelsOptions());
  for (uint64_t round = 0; round < 3; ++round) {
    for (uint64_t i = 0; i < 30'000; ++i) {
      db.Put(Scattered(i));
      if (i % 10'000 == 0) {
        EXPECT_LT(db.Measured().bits, 10.6);
      }
    }
    db.Settle();
    db.Reopen(db.options());
  }
  const MeasuredTree tree = db.Measured();
  SCOPED_TRACE(tree.text);
  EXPECT_NEAR(tree.bits, 10, 0.5);
  EXPECT_GT(tree.Gain(), kOfTheBest * tree.BestGain());
}

TEST(LevelsTest, SstFileWriterGetsWhatWasAsked) {
  LevelsDb db;
  db.Open(SmallTrees(), LevelsOptions());
  for (uint64_t i = 0; i < 20'000; ++i) db.Put(Scattered(i));
  db.Settle();
  rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), db.options(),
                                db.db()->DefaultColumnFamily());
  const std::string path = db.Path("written.sst");
  ASSERT_ROCKSDB_OK(writer.Open(path));
  for (uint64_t i = 0; i < 1000; ++i) {
    ASSERT_ROCKSDB_OK(writer.Put(InOrder(i), "0123456789abcdef"));
  }
  ASSERT_ROCKSDB_OK(writer.Finish());
  rocksdb::SstFileReader reader(db.options());
  ASSERT_ROCKSDB_OK(reader.Open(path));
  EXPECT_NEAR(
      static_cast<double>(reader.GetTableProperties()->filter_size) * 8 / 1000,
      10.1, 1);
  EXPECT_EQ(db.Log().find(kWhatToAdd), std::string::npos);
}

TEST(LevelsTest, PartitionedFilters) {
  Options options = SmallTrees();
  rocksdb::BlockBasedTableOptions table;
  table.partition_filters = true;
  table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  LevelsDb db;
  db.Open(options, LevelsOptions());
  for (uint64_t i = 0; i < 40'000; ++i) db.Put(Scattered(i));
  db.Settle();
  const MeasuredTree tree = db.Measured();
  EXPECT_NEAR(tree.bits, 10, 0.5) << tree.text;
}

}  // namespace
}  // namespace deltabloom::testing
