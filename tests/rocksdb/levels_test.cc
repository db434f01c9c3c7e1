// allocation=levels on real databases: with its listener and without, through
// OPTIONS files, several column families, existing databases.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "rocksdb/sst_file_reader.h"
#include "tests/rocksdb/levels_db.h"

namespace deltabloom::testing {
namespace {

constexpr char kWhatToAdd[] = "add listeners=deltabloom";

// The least part of the best gain: with concurrent compactions and the sizes
// that optimize_filters_for_memory varies it is 0.78 at times; uniform bits
// have 0.4 of it in these trees.
constexpr double kOfTheBest = 0.7;

Options WithPolicy(const PolicyPtr& policy) {
  Options options = SmallTrees();
  BlockBasedTableOptions table;
  table.filter_policy = policy;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

TEST(LevelsTest, RandomLoadGetsTheGainAtTheBytesAsked) {
  for (const Layout layout : {Layout::kLocal, Layout::kAuto}) {
    LevelsDb db(LevelsOptions(layout));
    db.PutScattered(50'000);
    const MeasuredTree tree = db.Measured();
    SCOPED_TRACE(tree.text);
    EXPECT_GE(tree.runs, 3u);
    EXPECT_NEAR(tree.bits, 10, 0.5);
    EXPECT_GT(tree.Gain(), kOfTheBest * tree.BestGain());
  }
}

TEST(LevelsTest, ReadBackAsJsonAndInTheLog) {
  LevelsDb db(LevelsOptions());
  db.PutScattered(20'000);
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
    EXPECT_CONTAINS(json, part);
  }
  EXPECT_CONTAINS(db.Log(), " last ");
  const int lines = CountIn(
      db.Log(), "[deltabloom] levels of column family default: bits per key");
  EXPECT_GE(lines, 1);
  // Some 400 tables were written.
  EXPECT_LT(lines, 100);
  EXPECT_LACKS(db.Log(), kWhatToAdd);
  db.Close();
  EXPECT_EQ(RocksDBFilterLevelsJson(), "{\"databases\":[]}");
}

// Half of it and twice as much at most, for the tree grows.
TEST(LevelsTest, ByRateAllRunsTogetherHaveIt) {
  RocksDBFilterOptions filters = LevelsOptions();
  filters.false_positive_rate = 0.004;
  LevelsDb db(filters);
  db.PutScattered(100'000);
  const MeasuredTree tree = db.Measured();
  SCOPED_TRACE(tree.text);
  EXPECT_GE(tree.runs, 3u);
  EXPECT_GT(tree.rates, 0.002);
  EXPECT_LT(tree.rates, 0.008);
}

TEST(LevelsTest, WithoutTheListenerBitsAreUniformAndTheLogSaysWhatToAdd) {
  LevelsDb db;
  db.Open(WithPolicy(NewRocksDBFilterPolicy(LevelsOptions())));
  db.PutScattered(20'000);
  const MeasuredTree tree = db.Measured();
  SCOPED_TRACE(tree.text);
  // optimize_filters_for_memory, on by default from 9.2 on, varies sizes.
  EXPECT_NEAR(tree.payload_bits, 10, 0.3);
  EXPECT_NEAR(tree.Gain(), 1, 0.25);
  EXPECT_EQ(CountIn(db.Log(), kWhatToAdd), 1);
}

TEST(LevelsTest, OptionsFileBringsPolicyAndListener) {
  LevelsDb db(LevelsOptions(Layout::kAuto));
  db.Put("key");
  db.Settle();
  const Options loaded = db.Loaded();
  ASSERT_EQ(loaded.listeners.size(), 1u);
  EXPECT_STREQ(loaded.listeners[0]->Name(), "deltabloom");
  EXPECT_EQ(Option(*PolicyIn(loaded), "allocation"), "levels");
  db.Open(loaded);
  db.PutScattered(5'000);
  EXPECT_CONTAINS(RocksDBFilterLevelsJson(), "\"allocation\":\"levels\"");
  EXPECT_LACKS(db.Log(), kWhatToAdd);
  std::shared_ptr<rocksdb::EventListener> listener;
  ASSERT_OK(rocksdb::EventListener::CreateFromString(ConfigOptions(),
                                                     "deltabloom", &listener));
  EXPECT_STREQ(listener->Name(), "deltabloom");
}

TEST(LevelsTest, AddRocksDBFiltersChangesAllOrNothing) {
  Options options;
  BlockBasedTableOptions table;
  table.block_size = 12345;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  std::string error;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(AddRocksDBFilters(LevelsOptions(), &options, &options, &error))
        << error;
    EXPECT_EQ(options.listeners.size(), 1u);
    EXPECT_EQ(
        options.table_factory->GetOptions<BlockBasedTableOptions>()->block_size,
        12345u);
  }
  Options plain;
  plain.table_factory.reset(rocksdb::NewPlainTableFactory());
  EXPECT_FALSE(AddRocksDBFilters(LevelsOptions(), &plain, &plain, &error));
  EXPECT_CONTAINS(error, "block-based");
  EXPECT_EQ(plain.listeners.size(), 0u);
  Options wrong;
  EXPECT_FALSE(AddRocksDBFilters(LevelsOptions(Layout::kAuto, -1), &wrong,
                                 &wrong, &error));
  EXPECT_CONTAINS(error, "out of range");
  EXPECT_EQ(wrong.listeners.size(), 0u);
  EXPECT_FALSE(
      AddRocksDBFilters(LevelsOptions(Layout::kAuto, -1), &wrong, &wrong));
}

// Two column families share a policy, the third has one of its own and the
// fourth another allocation; each has its own tree.
TEST(LevelsTest, EachColumnFamilyHasItsTree) {
  LevelsDb db(LevelsOptions());
  const Options options = SmallTrees();
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
    handles.push_back(db.NewFamily(family, name));
  }
  for (uint64_t i = 0; i < 30'000; ++i) {
    db.Put(Scattered(i));
    for (size_t k = 0; k < 3; ++k) {
      if (k == 0 && i % 10 != 0) continue;
      ASSERT_OK(db->Put({}, handles[k], Scattered(i), "0123456"));
    }
  }
  db.Settle();
  for (ColumnFamilyHandle* handle : handles) {
    ASSERT_OK(db->Flush({}, handle));
  }
  WaitForCompactions(db);
  EXPECT_NEAR(db.Measured().bits, 10, 0.5) << db.Measured().text;
  const MeasuredTree small = Measure(db, handles[0], Layout::kCompact);
  EXPECT_NEAR(small.bits, 10, 1) << small.text;
  const MeasuredTree third = Measure(db, handles[1], Layout::kLocal);
  EXPECT_NEAR(third.bits, 16, 0.8) << third.text;
  EXPECT_GT(third.Gain(), kOfTheBest * third.BestGain()) << third.text;
  const MeasuredTree fourth = Measure(db, handles[2], Layout::kCompact);
  EXPECT_NEAR(fourth.payload_bits, 10, 0.3) << fourth.text;
  const std::string json = RocksDBFilterLevelsJson();
  EXPECT_CONTAINS(json, "\"name\":\"uniform\",\"allocation\":null");
  EXPECT_CONTAINS(json,
                  "\"name\":\"other\",\"allocation\":\"levels\",\"layout\":"
                  "\"local\",\"bits_per_key\":{\"asked\":16");
  // A column family that is dropped is forgotten in time.
  ASSERT_OK(db->DropColumnFamily(handles[2]));
  for (ColumnFamilyHandle* handle : handles) db.CloseFamily(handle);
  for (uint64_t i = 0; i < 2'000; ++i) {
    db.Put(Scattered(i));
    if (i % 100 == 0) db.Settle();
  }
  EXPECT_LACKS(RocksDBFilterLevelsJson(), "\"name\":\"uniform\"");
}

// From RocksDB's Bloom filter, and from uniform; and what was learned is
// learned again when the database is reopened.
TEST(LevelsTest, ExistingDatabases) {
  LevelsDb db;
  db.Open(WithPolicy(RocksDBBloom()));
  db.PutScattered(30'000);
  db.Open(LevelsOptions());
  for (uint64_t round = 0; round < 3; ++round) {
    for (uint64_t i = 0; i < 30'000; ++i) {
      db.Put(Scattered(i));
      if (i % 10'000 == 0) {
        EXPECT_LT(db.Measured().bits, 10.6);
      }
    }
    db.Settle();
    db.Reopen();
  }
  const MeasuredTree tree = db.Measured();
  SCOPED_TRACE(tree.text);
  EXPECT_NEAR(tree.bits, 10, 0.5);
  EXPECT_GT(tree.Gain(), kOfTheBest * tree.BestGain());
}

TEST(LevelsTest, SstFileWriterGetsWhatWasAsked) {
  LevelsDb db(LevelsOptions());
  db.PutScattered(20'000);
  const std::string path = db.Path("written.sst");
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < 1000; ++i) keys.push_back(InOrder(i));
  WriteSst(db.options(), path, keys, db->DefaultColumnFamily());
  rocksdb::SstFileReader reader(db.options());
  ASSERT_OK(reader.Open(path));
  EXPECT_NEAR(
      static_cast<double>(reader.GetTableProperties()->filter_size) * 8 / 1000,
      10.1, 1);
  EXPECT_LACKS(db.Log(), kWhatToAdd);
}

TEST(LevelsTest, PartitionedFilters) {
  Options options = SmallTrees();
  BlockBasedTableOptions table;
  table.partition_filters = true;
  table.index_type = BlockBasedTableOptions::kTwoLevelIndexSearch;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  LevelsDb db(LevelsOptions(), options);
  db.PutScattered(40'000);
  const MeasuredTree tree = db.Measured();
  EXPECT_NEAR(tree.bits, 10, 0.5) << tree.text;
}

}  // namespace
}  // namespace deltabloom::testing
