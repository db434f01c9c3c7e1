// allocation=levels on real databases: with its listener and without, through
// OPTIONS files, several column families, existing databases; and what it knows
// of the trees of a process.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "deltabloom/filter.h"
#include "deltabloom/rocksdb.h"
#include "deltabloom/rocksdb_statistics.h"
#include "engines/rocksdb/base/options.h"
#include "engines/rocksdb/base/process.h"
#include "engines/rocksdb/levels/full_tree.h"
#include "engines/rocksdb/levels/level_bits.h"
#include "engines/rocksdb/levels/limits.h"
#include "engines/rocksdb/levels/tree_bits.h"
#include "engines/rocksdb/levels/tree_files.h"
#include "engines/rocksdb/levels/tree_listener.h"
#include "engines/rocksdb/levels/trees.h"
#include "engines/rocksdb/policy/policy.h"
#include "engines/rocksdb/statistics/statistics.h"
#include "rocksdb/file_system.h"
#include "rocksdb/filter_policy.h"
#include "tests/rocksdb/levels_db.h"
#include "tests/rocksdb/test_db.h"

namespace deltabloom::testing {
namespace {

using internal::ParseLimits;

constexpr char kWhatToAdd[] = "add listeners=deltabloom";

// The least part of the best gain: with concurrent compactions it is 0.78 at
// times; uniform bits have 0.4 of it in these trees.
constexpr double kOfTheBest = 0.7;

Options WithPolicy(const PolicyPtr& policy, bool partitioned = false) {
  Options options = SmallTrees();
  BlockBasedTableOptions table;
  table.partition_filters = partitioned;
  if (partitioned) {
    table.index_type = BlockBasedTableOptions::kTwoLevelIndexSearch;
  }
  table.filter_policy = policy;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

// --- The bits that tables get ------------------------------------------------

TEST(LevelsTest, ReadBackAsJsonAndInTheLog) {
  LevelsDb db(LevelsOptions());
  db.PutScattered(20'000);
  db.Settle();
  const auto json = nlohmann::json::parse(RocksDBFilterLevelsJson());
  const auto& database = json.at("databases").at(0);
  EXPECT_EQ(database.at("path"), db.path());
  const auto& family = database.at("column_families").at(0);
  EXPECT_EQ(family.at("name"), "default");
  EXPECT_EQ(family.at("allocation"), "levels");
  EXPECT_EQ(family.at("layout"), "compact");
  const MeasuredTree tree = db.Measured();
  EXPECT_EQ(family.at("bits_per_key").at("planned"), 10);
  EXPECT_NEAR(family.at("bits_per_key").at("on_disk"), tree.bits, 0.5);
  const auto& rates = family.at("false_positives_per_lookup");
  // It counts each run with its average bits, the measure each file with its.
  EXPECT_NEAR(rates.at("expected"), tree.rates, 0.3 * tree.rates);
  EXPECT_NEAR(rates.at("best"), tree.best, 0.3 * tree.best);
  EXPECT_EQ(family.at("runs").size(), tree.runs);
  std::map<std::string, double> written;
  for (const auto& write : family.at("writes")) {
    written[write.at("as")] = write.at("bits_per_key");
  }
  EXPECT_NEAR(written.at("bottommost"), 10.5, 1.5);
  EXPECT_GE(written.at("level 0"), 10);
  EXPECT_CONTAINS(db.Log(), ", bottommost ");
  const int lines = CountIn(
      db.Log(), "[deltabloom] levels of column family default: bits per key");
  EXPECT_GE(lines, 1);
  // Some 400 tables were written.
  EXPECT_LT(lines, 100);
  EXPECT_LACKS(db.Log(), kWhatToAdd);
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

// A universal compaction of all runs but the largest: what it reads is not
// there beside what it writes (docs/design.md has the rule).
TEST(LevelsTest, UniversalMergesGetHalfOfWhatIsFreeWithoutTheirInputs) {
  Options options = SmallTrees();
  options.compaction_style = rocksdb::kCompactionStyleUniversal;
  options.level0_file_num_compaction_trigger = 5;  // runs
  options.write_buffer_size = 1 << 20;
  options.target_file_size_base = 1 << 20;
  LevelsDb db(LevelsOptions(), options);
  uint64_t next = 0;
  const auto flush = [&](uint64_t tables) {
    for (const uint64_t end = next + 1000 * tables; next < end;) {
      ASSERT_OK(db->Put({}, Scattered(next++), "0123456789abcdef"));
      if (next % 1000 == 0) db.Flush();
    }
  };
  flush(20);
  db.Compact();
  flush(4);
  WaitForCompactions(db);
  const auto json = nlohmann::json::parse(RocksDBFilterLevelsJson());
  const auto& runs =
      json.at("databases").at(0).at("column_families").at(0).at("runs");
  SCOPED_TRACE(runs.dump());
  ASSERT_EQ(runs.size(), 2u);
  ASSERT_EQ(runs[0].at("keys"), 4000);
  ASSERT_EQ(runs[1].at("keys"), 20'000);
  const double largest = runs[1].at("bits_per_key");
  const double free = 1.05 * 10 * 24'000 - largest * 20'000 - 10 * 4000;
  EXPECT_NEAR(runs[0].at("bits_per_key"), 10 + free / 2 / 4000, 0.1);
}

TEST(LevelsTest, WithoutTheListenerBitsAreUniformAndTheLogSaysWhatToAdd) {
  LevelsDb db;
  db.Open(WithPolicy(NewRocksDBFilterPolicy(LevelsOptions())));
  db.PutScattered(20'000);
  const MeasuredTree tree = db.Measured();
  SCOPED_TRACE(tree.text);
  EXPECT_NEAR(tree.payload_bits, 10, 0.1);
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
}

TEST(LevelsTest, AddRocksDBFiltersChangesAllOrNothing) {
  std::string error;
  for (const bool levels : {true, false}) {
    RocksDBFilterOptions filters;
    if (levels) filters.allocation = RocksDBAllocation::kLevels;
    Options options;
    BlockBasedTableOptions table;
    table.block_size = 12345;
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(AddRocksDBFilters(filters, &options, &options, &error))
          << error;
      EXPECT_EQ(options.listeners.size(), levels ? 1u : 0u);
      EXPECT_EQ(options.table_factory->GetOptions<BlockBasedTableOptions>()
                    ->block_size,
                12345u);
      EXPECT_TRUE(CheckRocksDBFilters(options, &error)) << error;
    }
  }
  Options bad;
  EXPECT_FALSE(
      AddRocksDBFilters(LevelsOptions(Layout::kAuto, -1), &bad, &bad, &error));
  EXPECT_CONTAINS(error, "is not valid");
  bad.table_factory.reset(rocksdb::NewPlainTableFactory());
  EXPECT_FALSE(AddRocksDBFilters(LevelsOptions(), &bad, &bad, &error));
  EXPECT_CONTAINS(error, "block-based");
  EXPECT_EQ(bad.listeners.size(), 0u);
}

// Two column families share a policy, the third has one of its own and the
// fourth another allocation; each has its own tree.
TEST(LevelsTest, EachColumnFamilyHasItsTree) {
  LevelsDb db(LevelsOptions());
  RocksDBFilterOptions plain;
  plain.layout = Layout::kCompact;
  std::vector<ColumnFamilyHandle*> handles = {
      db.NewFamily(db.options(), "small")};
  for (const auto& [name, filters] :
       {std::make_pair("other", LevelsOptions(Layout::kLocal, 16)),
        std::make_pair("uniform", plain)}) {
    Options options = SmallTrees();
    AddRocksDBFiltersOrThrow(filters, &options, &options);
    handles.push_back(db.NewFamily(options, name));
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
                  "\"local\",\"bits_per_key\":{\"planned\":16");
  // A column family that is dropped is forgotten in time.
  ASSERT_OK(db->DropColumnFamily(handles[2]));
  for (ColumnFamilyHandle* handle : handles) db.CloseFamily(handle);
  for (uint64_t i = 0; i < 2'000; ++i) {
    db.Put(Scattered(i));
    if (i % 100 == 0) db.Settle();
  }
  EXPECT_LACKS(RocksDBFilterLevelsJson(), "\"name\":\"uniform\"");
}

// A database may have had RocksDB's Bloom filter, or uniform bits before. What
// was learned is learned again when the database is reopened.
TEST(LevelsTest, ExistingDatabases) {
  LevelsDb db;
  db.Open(WithPolicy(RocksDBBloom()));
  db.PutScattered(30'000);
  db.Open(LevelsOptions(Layout::kAuto));
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

TEST(LevelsTest, PartitionedFilters) {
  LevelsDb db(LevelsOptions(), WithPolicy(nullptr, /*partitioned=*/true));
  db.PutScattered(40'000);
  const MeasuredTree tree = db.Measured();
  EXPECT_NEAR(tree.bits, 10, 0.5) << tree.text;
}

// --- filter_memory -----------------------------------------------------------

RocksDBFilterOptions WithMemory(uint64_t bytes) {
  RocksDBFilterOptions filters = LevelsOptions();
  filters.filter_memory = bytes;
  return filters;
}

// Bytes of the filters of the database.
double FilterBytes(rocksdb::DB* db, ColumnFamilyHandle* family = nullptr) {
  rocksdb::TablePropertiesCollection tables;
  EXPECT_OK(db->GetPropertiesOfAllTables(
      family == nullptr ? db->DefaultColumnFamily() : family, &tables));
  double bytes = 0;
  for (const auto& [path, properties] : tables) {
    bytes += static_cast<double>(properties->filter_size);
  }
  return bytes;
}

TEST(FilterMemoryTest, AfterOpenAFlushIsNotTakenForAKey) {
  for (const auto& filters : {LevelsOptions(), WithMemory(25'000)}) {
    LevelsDb db(filters);
    db.PutScattered(20'000);
    db.Rewrite();
    db.Reopen();
    const double before = FilterBytes(db);
    db.PutScattered(500);
    EXPECT_LT(FilterBytes(db) - before, 500 * 20 / 8);
  }
}

// Counts the tables that are opened.
class CountingFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  using FileSystemWrapper::FileSystemWrapper;
  const char* Name() const override { return "CountingFileSystem"; }
  rocksdb::IOStatus NewRandomAccessFile(
      const std::string& path, const rocksdb::FileOptions& options,
      std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
      rocksdb::IODebugContext* context) override {
    const std::string end = ".sst";
    const bool is_table =
        path.size() >= end.size() &&
        path.compare(path.size() - end.size(), end.size(), end) == 0;
    if (is_table) ++tables_opened;
    return target()->NewRandomAccessFile(path, options, file, context);
  }
  std::atomic<int> tables_opened{0};
};

// A listener runs on threads that flush and compact.
TEST(FilterMemoryTest, AfterOpenNoTableIsReadForIt) {
  const auto files =
      std::make_shared<CountingFileSystem>(rocksdb::FileSystem::Default());
  const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(files);
  Options options = SmallTrees();
  options.disable_auto_compactions = true;
  options.max_open_files = 20;
  options.env = env.get();
  LevelsDb db(WithMemory(25'000), options);
  db.PutScattered(20'000);
  db.Reopen();
  db.Put("key");
  const int before = files->tables_opened;
  db.Flush();
  FinishJobs(db);
  EXPECT_EQ(files->tables_opened - before, 1);  // the new one
  db.Close();
}

// RocksDB opens few of the tables, and gives the listener no properties of
// those of other column families.
TEST(FilterMemoryTest, AfterOpenAllTablesAreEstimated) {
  for (const int files : {-1, 20}) {
    Options options = SmallTrees();
    options.max_open_files = files;
    options.target_file_size_base = 8 << 10;
    AddRocksDBFiltersOrThrow(WithMemory(50'000), &options, &options);
    Options other = SmallTrees();
    TestDb db(options);
    std::vector<ColumnFamilyHandle*> handles = {db.NewFamily(options, "second"),
                                                db.NewFamily(other, "other")};
    for (uint64_t i = 0; i < 15'000; ++i) {
      db.Put(Scattered(i));
      for (ColumnFamilyHandle* family : handles) {
        db.Put(Scattered(i), "value", family);
      }
    }
    rocksdb::CompactRangeOptions all;
    all.bottommost_level_compaction =
        rocksdb::BottommostLevelCompaction::kForce;
    for (int round = 0; round < 2; ++round) {
      db.Rewrite();
      ASSERT_OK(db->CompactRange(all, handles[0], nullptr, nullptr));
    }
    EXPECT_NEAR(FilterBytes(db) + FilterBytes(db, handles[0]), 48'500, 2'500);
    for (ColumnFamilyHandle* family : handles) db.CloseFamily(family);
    db.Close();
    std::unique_ptr<rocksdb::DB> opened;
    ASSERT_OK(rocksdb::DB::Open(
        options, db.path(),
        {{"default", options}, {"second", options}, {"other", other}}, &handles,
        OpensInto(&opened)));
    const double before = FilterBytes(opened.get());
    for (uint64_t i = 0; i < 400; ++i) {
      ASSERT_OK(opened->Put({}, Scattered(20'000 + i), "value"));
      if (i % 100 == 99) {
        ASSERT_OK(opened->Flush({}));
      }
    }
    FinishJobs(opened.get());
    EXPECT_GT(FilterBytes(opened.get()) - before, 400 * 10 / 8);
    EXPECT_LACKS(db.Log(), "cannot be kept");
    const auto trees = internal::FindTrees(&internal::TheProcess(), db.path());
    for (const auto& [name, family] : trees->families) {
      EXPECT_NEAR(family.tree.keys(), 15'000, 750) << name << " " << files;
    }
    for (ColumnFamilyHandle* handle : handles) {
      EXPECT_OK(opened->DestroyColumnFamilyHandle(handle));
    }
  }
}

// docs/operations.md rewrites the tables of another policy in this way. With
// the least bits the filters would have 10,000 bytes.
TEST(FilterMemoryTest, CompactFilesRewritesTablesInTheirLevel) {
  LevelsDb db;
  db.Open(WithPolicy(RocksDBBloom()));
  db.PutScattered(20'000);
  db.Open(WithMemory(26'000));
  db.PutScattered(1);  // an event: before it nothing is known of the tree
  rocksdb::ColumnFamilyMetaData tree;
  db->GetColumnFamilyMetaData(&tree);
  for (const auto& level : tree.levels) {
    for (const auto& file : level.files) {
      if (level.level == 0) continue;
      ASSERT_OK(db->CompactFiles({}, {file.name}, level.level));
    }
  }
  EXPECT_GT(FilterBytes(db), 18'000) << db.Measured().text;
  EXPECT_LE(FilterBytes(db), 26'000) << db.Measured().text;
}

// New keys do not get the bits of the level in excess of the total.
TEST(FilterMemoryTest, CompactFilesOfNewKeysKeepsTheTotal) {
  Options options = SmallTrees();
  options.disable_auto_compactions = true;
  LevelsDb db(WithMemory(25'000), options);
  for (uint64_t i = 0; i < 40'000; ++i) {
    db.Put(InOrder(i));
    if (i % 1'000 != 999) continue;
    db.Flush();
    db.CompactLevel(0, 6);
  }
  // 10,000 keys have the total, the others 4 bits.
  EXPECT_NEAR(FilterBytes(db), 40'000, 3'000);
}

// Databases with totals of their own, which grow tenfold and are rewritten.
TEST(FilterMemoryTest, IsKeptByLeveledAndUniversalTrees) {
  Options dynamic = SmallTrees();
  dynamic.max_bytes_for_level_multiplier = 10;
  dynamic.level_compaction_dynamic_level_bytes = true;
  Options universal = SmallTrees();
  universal.compaction_style = rocksdb::kCompactionStyleUniversal;
  struct Case {
    LevelsDb db;
    uint64_t keys_within = 0;  // when filters last were within the total
  } cases[] = {{LevelsDb(WithMemory(40'000))},
               {LevelsDb(WithMemory(40'000), dynamic)},
               {LevelsDb(WithMemory(40'000), universal)}};
  constexpr uint64_t kKeys = 30'000;
  for (uint64_t i = 0; i < kKeys; ++i) {
    for (Case& that : cases) {
      that.db.Put(Scattered(i));
      if (i % 1'000 != 999) continue;
      const double excess = FilterBytes(that.db) - 40'000;
      if (excess <= 0) that.keys_within = i;
      // 4 bits per key, the framing of each filter, and a table that a
      // compaction may be about to delete.
      EXPECT_LE(excess, 0.6 * static_cast<double>(i - that.keys_within) + 2'000)
          << i;
    }
  }
  for (Case& that : cases) {
    that.db.Settle();
    that.db.Rewrite();
    EXPECT_NEAR(FilterBytes(that.db), 40'000, 2'000);
    // Compactions count the keys that they drop: the next one uses the rest.
    that.db.PutScattered(kKeys);
    that.db.Rewrite();
    EXPECT_LE(FilterBytes(that.db), 42'000);
    that.db.Rewrite();
    EXPECT_NEAR(FilterBytes(that.db), 40'000, 2'000);
    EXPECT_CONTAINS(RocksDBFilterLevelsJson(),
                    "\"path\":\"" + that.db.path() +
                        "\",\"filter_memory\":{\"asked\":40000,");
    EXPECT_CONTAINS(RocksDBFilterLevelsPrometheus(),
                    "deltabloom_filter_memory_bytes{database=\"" +
                        that.db.path() + "\",which=\"asked\"} 40000\n");
    // The total is lowered at run time, then to less than the least.
    ASSERT_OK(that.db.SetField("filter_memory", "25kB"));
    that.db.Rewrite();
    EXPECT_NEAR(FilterBytes(that.db), 25'000, 1'250);
    const std::string line = "[deltabloom] filter_memory=10000 cannot be kept";
    EXPECT_EQ(CountIn(that.db.Log(), line), 0);
    ASSERT_OK(that.db.SetField("filter_memory", "10kB"));
    that.db.Rewrite();
    EXPECT_NEAR(FilterBytes(that.db), kKeys * 4 / 8, 1'500);
    EXPECT_EQ(
        CountIn(that.db.Log(), line + ": filters have min_bits_per_key=4"), 1);
  }
}

TEST(FilterMemoryTest, TwoFamiliesShareItAndTheSmallestTotalCounts) {
  const auto options = [](uint64_t bytes) {
    Options with = SmallTrees();
    AddRocksDBFiltersOrThrow(WithMemory(bytes), &with, &with);
    return with;
  };
  TestDb db(options(50'000));
  ColumnFamilyHandle* const second = db.NewFamily(options(50'000), "second");
  for (uint64_t i = 0; i < 30'000; ++i) {
    db.Put(Scattered(i));
    db.Put(Scattered(i), "value", second);
  }
  for (ColumnFamilyHandle* family : {db->DefaultColumnFamily(), second}) {
    for (int round = 0; round < 2; ++round) {
      rocksdb::CompactRangeOptions all;
      all.bottommost_level_compaction =
          rocksdb::BottommostLevelCompaction::kForce;
      ASSERT_OK(db->CompactRange(all, family, nullptr, nullptr));
    }
  }
  db.Rewrite();
  EXPECT_NEAR(FilterBytes(db) + FilterBytes(db, second), 50'000, 2'500);
  db.CloseFamily(second);
  // A program opens it that has changed one of them.
  db.Close();
  std::vector<ColumnFamilyHandle*> handles;
  std::unique_ptr<rocksdb::DB> opened;
  const Options first = options(50'000);
  ASSERT_OK(rocksdb::DB::Open(first, db.path(),
                              {{"default", first}, {"second", options(60'000)}},
                              &handles, OpensInto(&opened)));
  for (ColumnFamilyHandle* family : handles) {
    ASSERT_OK(opened->Put({}, family, "key", "value"));
    ASSERT_OK(opened->Flush({}, family));
  }
  EXPECT_CONTAINS(db.Log(),
                  "column families have different values of filter_memory: the "
                  "smallest is used until all have the same");
  EXPECT_CONTAINS(RocksDBFilterLevelsJson(),
                  "\"filter_memory\":{\"asked\":50000,");
  for (ColumnFamilyHandle* family : handles) {
    EXPECT_OK(opened->DestroyColumnFamilyHandle(family));
  }
}

// The test needs a new process, which has not made the listener yet.
TEST(FilterMemoryDeathTest, WithoutTheListenerItIsRefused) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto open = [] {
    const Options options =
        WithPolicy(NewRocksDBFilterPolicyOrThrow(WithMemory(100'000)));
    if (!CheckRocksDBFilters(options)) std::exit(1);
    std::cerr << TestDb().TryOpen(options).ToString();
    std::exit(0);
  };
  EXPECT_EXIT(open(), ::testing::ExitedWithCode(0),
              "Invalid argument: deltabloom: filter_memory needs its listener: "
              "add listeners=deltabloom");
}

// Programs open checkpoints and backups with their listeners cleared.
TEST(FilterMemoryTest, WithListenersClearedTablesGetMinBitsPerKey) {
  RocksDBFilterOptions filters = WithMemory(100'000);
  filters.layout = Layout::kCompact;
  Options options = SmallTrees();
  AddRocksDBFiltersOrThrow(filters, &options, &options);
  TestDb db(options);
  db.Load(0, 2000);
  options = db.Loaded();
  options.listeners.clear();
  db.Open(options);
  db.ExpectFiltered(0, 2000);
  db.Rewrite();
  EXPECT_NEAR(8 * FilterBytes(db) / 2000, filters.min_bits_per_key, 0.2);
  EXPECT_EQ(CountIn(db.Log(), kWhatToAdd), 1);
  EXPECT_CONTAINS(db.Log(),
                  "filter_memory is not kept without its listener: all tables "
                  "get min_bits_per_key; add listeners=deltabloom");
}

TEST(FilterMemoryTest, IsKeptThroughOptionsFilesAndOddNames) {
  const PolicyPtr policy = NewRocksDBFilterPolicyOrThrow(WithMemory(100'000));
  Options options = WithPolicy(policy);
  const Options of_another_database =
      WithPolicy(NewRocksDBFilterPolicyOrThrow(WithMemory(200'000)));
  TestDb db;
  EXPECT_TRUE(CheckRocksDBFilters(options));
  EXPECT_TRUE(CheckRocksDBFilters(of_another_database));
  options.listeners.push_back(NewRocksDBFilterListener());
  const auto named = Open(options, db.Path("\"\u00e9\xff"));
  Load(named.get(), 0, 10);
  EXPECT_CONTAINS(RocksDBFilterLevelsJson(), "/\\u0022\u00e9\ufffd\",");
  EXPECT_CONTAINS(RocksDBFilterLevelsPrometheus(),
                  "\\\"\u00e9\ufffd\",which=\"asked\"} 100000\n");
  db.Open(options);
  db.Load(0, 1000);
  db.Open(db.Loaded());
  db.ExpectFiltered(0, 1000);
  EXPECT_EQ(db.Option("filter_memory"), "100kB");
}

uint64_t OnDisk(const TestDb& db) {
  const std::string json = RocksDBFilterLevelsJson();
  const std::string path = "\"path\":\"" + db.path() + "\"";
  const std::string field = "\"on_disk\":";
  const size_t at = json.find(field, json.find(path));
  EXPECT_NE(at, std::string::npos) << json;
  return std::stoull(json.substr(at + field.size()));
}

// RocksDB tells a listener of neither.
TEST(FilterMemoryTest, OnDiskFollowsDroppedFamiliesAndCompactFiles) {
  Options options = SmallTrees();
  AddRocksDBFiltersOrThrow(WithMemory(50'000), &options, &options);
  TestDb db(options);
  ColumnFamilyHandle* const second = db.NewFamily(options, "second");
  for (uint64_t i = 0; i < 5'000; ++i) {
    db.Put(Scattered(i));
    db.Put(Scattered(i), "value", second);
  }
  ASSERT_OK(db->Flush({}, second));
  db.Flush();
  WaitForCompactions(db);
  EXPECT_EQ(OnDisk(db), FilterBytes(db) + FilterBytes(db, second));
  rocksdb::ColumnFamilyMetaData tree;
  db->GetColumnFamilyMetaData(&tree);
  for (const auto& level : tree.levels) {
    if (level.level == 0 || level.files.empty()) continue;
    ASSERT_OK(db->CompactFiles({}, {level.files.front().name}, level.level));
    EXPECT_EQ(OnDisk(db), FilterBytes(db) + FilterBytes(db, second));
  }
  ASSERT_OK(db->DropColumnFamily(second));
  db.CloseFamily(second);
  EXPECT_EQ(OnDisk(db), FilterBytes(db));
}

// --- Weights by use ----------------------------------------------------------

// The lookups only hit, then only miss: the last run loses its bits when it is
// rewritten, and gets them back.
TEST(UseTest, BitsFollowTheLookups) {
  LevelsDb db(LevelsOptions());
  constexpr uint64_t kKeys = 40'000;
  db.PutScattered(kKeys);
  const auto get = [&](uint64_t first) {
    std::string value;
    for (uint64_t i = 0; i < 3 * kKeys; ++i) {
      (void)db->Get({}, Scattered(first + i * 7919 % kKeys), &value);
    }
  };
  const auto rewritten = [&] {
    db.PutScattered(kKeys);
    db.Rewrite();
    return db.Measured();
  };
  get(0);
  const MeasuredTree hits = rewritten();
  EXPECT_NEAR(hits.payload_bits, 4, 0.7) << hits.text;
  EXPECT_CONTAINS(RocksDBFilterLevelsJson(),
                  "\"lookups_of_absent_keys\":{\"level 0\":");
  EXPECT_CONTAINS(RocksDBFilterLevelsJson(), "\"without_use\":");
  EXPECT_CONTAINS(RocksDBFilterLevelsPrometheus(),
                  "written_as=\"bottommost\"} 0.000001\n");
  EXPECT_CONTAINS(db.Log(), "; lookups of absent keys: level 0 ");
  get(kKeys);
  const MeasuredTree misses = rewritten();
  EXPECT_NEAR(misses.bits, 10, 0.5) << misses.text;
  // Learned anew, from too few lookups to say anything.
  db.Reopen();
  EXPECT_NEAR(rewritten().bits, 10, 0.5);
  // If weights_by_use is off, nothing changes.
  ASSERT_OK(db.SetField("weights_by_use", "off"));
  get(0);
  EXPECT_NEAR(rewritten().bits, 10, 0.5);
}

// --- Limits in OPTIONS files -------------------------------------------------

// allocation=levels learns the trees of a process from listeners and OPTIONS
// files; RocksDB informs no listener of some changes.

constexpr char kLeveled[] =
    "  compaction_style=kCompactionStyleLevel\n"
    "  max_bytes_for_level_base=1000\n"
    "  max_bytes_for_level_multiplier=4.500000\n"
    "  level0_file_num_compaction_trigger=4\n"
    "  level_compaction_dynamic_level_bytes=true\n";

std::string Text(const internal::TreeLimits& limits) {
  if (!limits.Known()) return "0 0 0";
  std::ostringstream text;
  text << limits.level0_files << " " << limits.base << " " << limits.ratio
       << (limits.dynamic ? " dynamic" : "");
  return text.str();
}

TEST(LevelLimitsTest, OfEachFamily) {
  const std::string leveled = kLeveled;
  std::string all;
  for (const auto& [name, limits] :
       ParseLimits("# This is a RocksDB option file.\n"
                   "[DBOptions]\n  max_open_files=-1\n\n"
                   "[CFOptions \"default\"]\n" +
                   leveled +
                   "[TableOptions/BlockBasedTable \"default\"]\n"
                   "  max_bytes_for_level_base=7\n"
                   "[CFOptions \"a\\:b [\"] n\\n\\\\\"]\n"
                   "  max_bytes_for_level_multiplier=10\n"
                   "  max_bytes_for_level_base=268435456\n"
                   "  level0_file_num_compaction_trigger=8\n"
                   "[CFOptions \"universal\"]\n" +
                   leveled +
                   "  compaction_style=kCompactionStyleUniversal\n"
                   "[CFOptions \"never\"]\n" +
                   leveled +
                   "  disable_auto_compactions=true\n"
                   "[CFOptions \"no files\"]\n" +
                   leveled + "  level0_file_num_compaction_trigger=none\n")) {
    all += name + ": " + Text(limits) + "; ";
  }
  EXPECT_EQ(all,
            "a:b [\"] n\n\\: 8 2.68435e+08 10; default: 4 1000 4.5 dynamic; "
            "never: 0 0 0; no files: 0 0 0; universal: 0 0 0; ");
  for (const char* const text :
       {"", "\n", "[", "[CFOptions \"", "[CFOptions \"]", "[CFOptions \"\"]",
        "=", "  =1", "max_bytes_for_level_base=1e999",
        "[CFOptions \"x\"]\n  max_bytes_for_level_base=-1\n"}) {
    for (const auto& family : ParseLimits(text)) {
      EXPECT_FALSE(family.second.Known()) << text;
    }
  }
}

// --- The trees of a process --------------------------------------------------

TEST(TreesTest, AnAnnouncementIsForOneFamilyOneThreadAndOneUse) {
  internal::Process process;
  const auto take = [&process](const char* family) {
    const auto note = internal::TakeAnnouncement(&process, family);
    return note.has_value() ? note->path : "none";
  };
  EXPECT_EQ(take("default"), "none");
  internal::AnnounceTable(&process, {"default", "000007.sst", 3, nullptr});
  std::thread([&] { EXPECT_EQ(take("default"), "none"); }).join();
  EXPECT_EQ(take("default"), "000007.sst");
  EXPECT_EQ(take("default"), "none");
  // A stale one is gone, too.
  internal::AnnounceTable(&process, {"other", "000008.sst", 3, nullptr});
  EXPECT_EQ(take("default"), "none");
  EXPECT_EQ(take("other"), "none");
}

TEST(TreesTest, FoundByNameUntilTheDatabaseIsClosed) {
  internal::Process process;
  int first = 0;
  int second = 0;
  const auto trees = internal::TreesOf(&process, "/a", &first);
  EXPECT_EQ(internal::TreesOf(&process, "/a", &first), trees);
  EXPECT_EQ(internal::FindTrees(&process, "/a"), trees);
  EXPECT_EQ(internal::FindTrees(&process, "/b"), nullptr);
  // Opened again without an event that it was closed.
  EXPECT_NE(internal::TreesOf(&process, "/a", &second), trees);
  internal::ForgetTrees(&process, &first);
  EXPECT_NE(internal::FindTrees(&process, "/a"), nullptr);
  internal::ForgetTrees(&process, &second);
  EXPECT_EQ(internal::FindTrees(&process, "/a"), nullptr);
}

// Two processes in one: neither knows what the other does.
TEST(TreesTest, AreOfTheProcessOfListenerAndPolicy) {
  internal::Process process;
  internal::PolicyOptions by_levels;
  ASSERT_EQ(internal::ParsePolicyOptions("allocation=levels", &by_levels), "");
  const PolicyPtr policy = internal::NewPolicy(&process, by_levels);
  Options options = WithPolicy(policy);
  options.listeners.push_back(internal::NewTreeListener(&process));
  TestDb db(options);
  db.Load(0, 1000);
  EXPECT_EQ(internal::AllTrees(&process).size(), 1u);
  EXPECT_EQ(internal::AllTrees(&internal::TheProcess()).size(), 0u);
  EXPECT_TRUE(process.databases.Lock()->announced.empty());
  RocksDBFilterStatistics statistics;
  EXPECT_FALSE(GetRocksDBFilterStatistics(*policy, &statistics));
  ASSERT_TRUE(internal::StatisticsOf(&process, *policy, &statistics));
  ASSERT_FALSE(statistics.rows.empty());
  EXPECT_EQ(statistics.rows[0].level, 0);
  EXPECT_GE(statistics.rows[0].filters_built, 1u);
}

TEST(TreesTest, NothingIsKeptOfClosedDatabases) {
  LevelsDb db(LevelsOptions());
  for (uint64_t i = 0; i < 20; ++i) {
    db.Put(Scattered(i));
    db.Settle();
    EXPECT_EQ(internal::AllTrees(&internal::TheProcess()).size(), 1u);
    db.Close();
    EXPECT_EQ(internal::AllTrees(&internal::TheProcess()).size(), 0u);
    db.Reopen();  // with the same listener, which stays with the options
  }
  db.Put("key");
  db.Settle();
  db.Close();
  EXPECT_EQ(RocksDBFilterLevelsJson(), "{\"databases\":[]}");
}

// A quiet database whose tables an operator rewrites one by one, as
// docs/operations.md does. Without an event nothing is known of the tree, and
// RocksDB tells nothing of CompactFiles.
TEST(TreesTest, IsReadBeforeTablesOfCompactFiles) {
  for (const bool is_read : {false, true}) {
    LevelsDb db;
    db.Open(WithPolicy(RocksDBBloom()));
    db.PutScattered(20'000);
    std::string error;
    EXPECT_FALSE(ReadRocksDBTree(db, &error));
    EXPECT_CONTAINS(error, "the database has no listener of Deltabloom");
    db.Open(LevelsOptions());
    if (is_read) {
      EXPECT_TRUE(ReadRocksDBTree(db));
    }
    rocksdb::ColumnFamilyMetaData tree;
    db->GetColumnFamilyMetaData(&tree);
    for (const auto& level : tree.levels) {
      for (const auto& file : level.files) {
        if (level.level == 0) continue;
        ASSERT_OK(db->CompactFiles({}, {file.name}, level.level));
      }
    }
    const MeasuredTree rewritten = db.Measured();
    SCOPED_TRACE(rewritten.text);
    ASSERT_GE(rewritten.runs, 3u);
    EXPECT_NEAR(rewritten.bits, 10, 0.6);
    EXPECT_EQ(CountIn(db.Log(), "the bits per key are uniform until"),
              is_read ? 0 : 1);
    // Tables of level 0 are as they were.
    const double top = rewritten.run_rates.at(tree.levels[0].files.size());
    const double last = rewritten.run_rates.back();
    if (is_read) {
      EXPECT_GT(last, 2 * top);
    } else {
      EXPECT_NEAR(last / top, 1, 0.2);
    }
  }
}

// The table of a recovery, which is written before the database is open.
TEST(TreesTest, RecoveryWritesUniformBitsAndSaysSo) {
  LevelsDb db(LevelsOptions());
  ASSERT_OK(db->Put({}, "key", "value"));  // in the write-ahead log only
  db.Reopen();
  EXPECT_EQ(CountIn(db.Log(), "the bits per key are uniform until"), 1);
  EXPECT_EQ(CountIn(db.Log(), "a table of level 0"), 1);
}

// --- Events of a listener ----------------------------------------------------

// Events of tables that no database has.
class TreeListenerTest : public ::testing::Test {
 protected:
  TreeListenerTest() { trees_->families["default"]; }

  // A table was written by a flush.
  void Created(const std::string& path, uint64_t entries,
               uint64_t filter_entries, uint64_t filter_size) {
    rocksdb::TableFileCreationInfo info;
    info.db_name = "/db";
    info.cf_name = "default";
    info.file_path = path;
    info.reason = rocksdb::TableFileCreationReason::kFlush;
    info.table_properties.num_entries = entries;
    info.table_properties.num_filter_entries = filter_entries;
    info.table_properties.filter_size = filter_size;
    listener_->OnTableFileCreated(info);
  }
  void Deleted(const std::string& path) {
    rocksdb::TableFileDeletionInfo info;
    info.db_name = "/db";
    info.file_path = path;
    listener_->OnTableFileDeleted(info);
  }
  internal::TreeBits& tree() { return trees_->families["default"].tree; }

  internal::Process process_;
  std::unique_ptr<rocksdb::EventListener> listener_ =
      internal::NewTreeListener(&process_);
  std::shared_ptr<internal::DatabaseTrees> trees_ =
      internal::TreesOf(&process_, "/db", nullptr);
};

TEST_F(TreeListenerTest, KeysAreThoseOfTheFilterIfThereIsOne) {
  const auto facts = [this](int file, uint64_t entries, uint64_t filter_size) {
    Created("/db/00000" + std::to_string(file) + ".sst", 100, entries,
            filter_size);
    return tree().Find(static_cast<uint64_t>(file)).facts;
  };
  EXPECT_EQ(facts(7, 80, 1000).keys, 80u);
  EXPECT_EQ(facts(8, 0, 1000).keys, 100u);  // of a RocksDB that counts none
  EXPECT_EQ(facts(9, 0, 0).keys, 100u);
  EXPECT_EQ(tree().Find(9).facts.filter_bits, 0);
}

TEST_F(TreeListenerTest, AnAnnouncementEndsWithItsTable) {
  internal::AnnounceTable(&process_, {"default", "/db/000007.sst", 1, trees_});
  Created("/db/000007.sst", 100, 100, 1000);
  EXPECT_FALSE(internal::TakeAnnouncement(&process_, "default").has_value());
}

TEST_F(TreeListenerTest, TheFirstOfSeveralListenersCounts) {
  trees_->origins["/db/000007.sst"] = 3;
  for (int i = 0; i < 2; ++i) Created("/db/000007.sst", 100, 100, 1000);
  EXPECT_EQ(tree().Find(7).facts.origin, 3);
  // Under allocation=uniform no policy says for what a table is written.
  const internal::FileSums& written = trees_->jobs[0].written;
  for (int i = 0; i < 2; ++i) Created("/db/000008.sst", 100, 100, 1000);
  EXPECT_EQ(written.files, 1u);
  EXPECT_EQ(written.keys, 100);
}

// The average of a rate depends on the weights, so the bits without them are
// those of the average without them.
TEST_F(TreeListenerTest, BitsWithoutWeights) {
  internal::PolicyOptions options;
  options.false_positive_rate = 0.002;
  options.weights_by_use = true;
  internal::FamilyTree& family = trees_->families["default"];
  tree().Learn(1, {1'000'000, 1e7, internal::kBottommost});
  tree().Learn(2, {100'000, 1e6, 5});
  tree().SetTree({{1, 6, 0}, {2, 5, 0}});
  std::string problem;
  const internal::LevelBits alike =
      internal::BitsInTree(options, {6, true}, trees_.get(), &family, &problem);

  // All of a million lookups find their key in the last run.
  family.use.Count({{internal::kBottommost, {1e6, 0}}, {5, {1e6, 1e6}}},
                   {{internal::kBottommost, 1}, {5, 1}});
  const BlockBasedTableOptions table;
  rocksdb::FilterBuildingContext context(table);
  context.column_family_name = "default";
  context.reason = rocksdb::TableFileCreationReason::kFlush;
  context.level_at_creation = 6;
  context.is_bottommost = true;
  internal::AnnounceTable(&process_, {"default", "/db/000007.sst", 1, trees_});
  const internal::LevelChoice choice =
      internal::ChooseByLevel(&process_, options, context, nullptr);
  const internal::LastTable& last = family.given[internal::kBottommost];
  EXPECT_EQ(last.without_use, alike.millibits_per_key / 1000.0);
  EXPECT_EQ(last.bits_per_key, choice.bits.millibits_per_key / 1000.0);
  EXPECT_LT(last.bits_per_key, 5);
  EXPECT_GT(last.without_use, 8);
}

// RocksDB deletes what DB::CompactFiles has written if it fails.
TEST_F(TreeListenerTest, AJobWithoutEventsEndsWithItsLastTable) {
  trees_->jobs[0].silent = true;
  Created("/db/000007.sst", 100, 100, 1000);
  Deleted("/db/000006.sst");
  EXPECT_EQ(trees_->jobs.size(), 1u);
  Deleted("/db/000007.sst");
  EXPECT_TRUE(trees_->jobs.empty());
}

TEST_F(TreeListenerTest, OtherFilesAndDeletedTables) {
  for (const char* path : {"", "/", "/db/", "/db/name.sst", "/db/7/name"}) {
    Created(path, 100, 100, 1000);
    EXPECT_EQ(tree().files(), 0u) << path;
  }
  Created("000007.sst", 100, 100, 1000);
  EXPECT_EQ(tree().files(), 1u);
  Deleted("/db/000007.sst");
  EXPECT_EQ(tree().files(), 0u);
  EXPECT_FALSE(trees_->changed_silently);
  // When the tree is next read, it has this table.
  Created("/db/000008.sst", 100, 100, 1000);
  tree().SetTree({{8, 0, 0}});
  Deleted("/db/000008.sst");
  EXPECT_EQ(tree().files(), 1u);
  EXPECT_TRUE(trees_->changed_silently);
}

// --- Changes without events --------------------------------------------------

// Changes without an event of their own, in a tree of more tables than there
// are events: it is read again for a reason only.
class SilentChangesTest : public ::testing::Test {
 protected:
  SilentChangesTest() {
    Options options = SmallTrees();
    options.disable_auto_compactions = true;
    options.level_compaction_dynamic_level_bytes = false;
    options.level0_slowdown_writes_trigger = 1000;
    options.level0_stop_writes_trigger = 1000;
    db_.Open(LevelsOptions(), options);
    Fill(40);
    ExpectTree("40 x L0:100, 0 0 0");
  }

  // Writes tables of 100 keys each to level 0.
  void Fill(int tables) {
    for (int i = 0; i < tables * 100; ++i) {
      db_.Put(Scattered(next_++));
      if (next_ % 100 == 0) db_.Flush();
    }
  }

  // "2 x L0:100, 1 x L3:800, ", as the policy knows it, and the limits.
  std::string Tree(const std::string& name) {
    const auto trees = internal::FindTrees(&internal::TheProcess(), db_.path());
    if (trees == nullptr) return "no tree";
    const std::lock_guard<std::mutex> lock(trees->mutex);
    const auto it = trees->families.find(name);
    if (it == trees->families.end()) return "no family";
    std::map<std::string, int> runs;
    for (const internal::TreeRun& run : it->second.tree.Runs(0)) {
      ++runs["L" + std::to_string(run.level) + ":" +
             std::to_string(static_cast<uint64_t>(run.keys))];
    }
    std::string text;
    for (const auto& [run, times] : runs) {
      text += std::to_string(times) + " x " + run + ", ";
    }
    return text + Text(it->second.tree.limits());
  }

  void ExpectTree(const std::string& expected,
                  const std::string& name = "default") {
    FinishJobs(db_);
    EXPECT_EQ(Tree(name), expected);
  }

  LevelsDb db_;
  uint64_t next_ = 0;
};

TEST_F(SilentChangesTest, CompactFilesAndDeletedRanges) {
  EXPECT_FALSE(db_->CompactFiles({}, {"999999.sst"}, 2).ok());
  db_.CompactLevel(0, 2, 1);
  Fill(1);
  ExpectTree("40 x L0:100, 1 x L2:100, 0 0 0");
  // Its inputs are still needed, so that none is deleted.
  const auto reader = db_.NewIterator();
  db_.CompactLevel(0, 4, 1);
  Fill(1);
  ExpectTree("40 x L0:100, 1 x L4:200, 0 0 0");
  ASSERT_OK(rocksdb::DeleteFilesInRange(db_, db_->DefaultColumnFamily(),
                                        nullptr, nullptr));
  Fill(1);
  ExpectTree("41 x L0:100, 0 0 0");
}

TEST_F(SilentChangesTest, NewFamiliesAndOptions) {
  db_.CompactLevel(0, 2, 1);
  Fill(1);
  ExpectTree("40 x L0:100, 1 x L2:100, 0 0 0");
  Options fifo = SmallTrees();
  fifo.compaction_style = rocksdb::kCompactionStyleFIFO;
  ColumnFamilyHandle* const family = db_.NewFamily(fifo, "new");
  ASSERT_OK(db_->Put({}, family, "key", "value"));
  ASSERT_OK(db_->Flush({}, family));
  ExpectTree("1 x L0:1, 0 0 0", "new");
  ASSERT_OK(db_->SetOptions({{"disable_auto_compactions", "false"},
                             {"level0_file_num_compaction_trigger", "700"},
                             {"max_bytes_for_level_base", "20000000"}}));
  Fill(1);
  ExpectTree("41 x L0:100, 1 x L2:100, 0 0 0");
  // Read with the tree.
  ASSERT_OK(rocksdb::DeleteFilesInRange(db_, db_->DefaultColumnFamily(),
                                        nullptr, nullptr));
  rocksdb::ColumnFamilyMetaData metadata;
  db_->GetColumnFamilyMetaData(&metadata);
  internal::TreeLimits limits;
  limits.level0_files = 700;
  limits.base = 20'000'000 * (4100 / static_cast<double>(metadata.size));
  limits.ratio = 4;
  Fill(1);
  ExpectTree("42 x L0:100, " + Text(limits));
  db_.CloseFamily(family);
}

}  // namespace
}  // namespace deltabloom::testing
