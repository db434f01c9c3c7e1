// allocation=levels on real databases: what the filters on disk have, in
// workloads that shape the tree in different ways.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "rocksdb/listener.h"
#include "rocksdb/utilities/options_util.h"
#include "tests/random.h"
#include "tests/rocksdb/tree.h"

namespace deltabloom::testing {
namespace {

using rocksdb::Options;

RocksDBFilterOptions LevelsOptions(Layout layout = Layout::kCompact,
                                   double bits_per_key = 10) {
  RocksDBFilterOptions filters;
  filters.bits_per_key = bits_per_key;
  filters.layout = layout;
  filters.allocation = RocksDBAllocation::kLevels;
  return filters;
}

// Trees of four levels from a few hundred flushes.
Options SmallTrees() {
  Options options;
  options.create_if_missing = true;
  options.compression = rocksdb::kNoCompression;
  options.write_buffer_size = 64 << 10;
  options.target_file_size_base = 32 << 10;
  options.max_bytes_for_level_base = 128 << 10;
  options.max_bytes_for_level_multiplier = 4;
  return options;
}

class LevelsTest : public ::testing::Test {
 protected:
  void Open(Options options, const RocksDBFilterOptions& filters) {
    std::string error;
    ASSERT_TRUE(AddRocksDBFilters(filters, &options, &options, &error))
        << error;
    layout_ = filters.layout;
    db_ = testing::Open(options, path_);
  }

  static std::string Name(uint64_t i) {
    char name[24];
    std::snprintf(name, sizeof(name), "%016llx",
                  static_cast<unsigned long long>(i));
    return name;
  }
  static std::string Scattered(uint64_t i) {
    return Name(i * 0x9e3779b97f4a7c15);
  }

  // Now and then lets compactions catch up, as a database does that is not
  // overrun.
  void Put(const std::string& key) {
    ASSERT_ROCKSDB_OK(db_->Put(write_, key, "0123456789abcdef"));
    if (++written_ % 500 == 0) WaitForCompactions();
  }

  void Settle() {
    ASSERT_ROCKSDB_OK(db_->Flush({}));
    WaitForCompactions();
  }

  void WaitForCompactions() {
    for (int i = 0; i < 20000; ++i) {
      uint64_t busy = 0;
      for (const char* property :
           {"compaction-pending", "num-running-compactions",
            "mem-table-flush-pending", "num-running-flushes"}) {
        uint64_t value = 0;
        db_->GetIntProperty(std::string("rocksdb.") + property, &value);
        busy += value;
      }
      if (busy == 0) return;
      usleep(500);
    }
  }

  MeasuredTree Measured() {
    return Measure(db_.get(), db_->DefaultColumnFamily(), layout_);
  }

  TempDir dir_;
  std::string path_ = dir_.Path("db");
  Layout layout_ = Layout::kCompact;
  uint64_t written_ = 0;
  rocksdb::WriteOptions write_ = [] {
    rocksdb::WriteOptions write;
    write.disableWAL = true;
    return write;
  }();
  std::unique_ptr<rocksdb::DB> db_;
};

TEST_F(LevelsTest, RandomLoadGetsTheGainAtTheBytesAsked) {
  Open(SmallTrees(), LevelsOptions());
  for (uint64_t i = 0; i < 100'000; ++i) Put(Scattered(i));
  Settle();
  const MeasuredTree tree = Measured();
  SCOPED_TRACE(tree.text);
  EXPECT_GE(tree.runs, 3u);
  EXPECT_NEAR(tree.bits, 10, 0.5);
  EXPECT_GT(tree.Gain(), 0.8 * tree.BestGain());
  const std::string json = RocksDBFilterLevelsJson();
  EXPECT_NE(json.find("\"asked\":10,"), std::string::npos) << json;
  EXPECT_NE(ReadFile(path_ + "/LOG").find("levels of column family default"),
            std::string::npos);
  db_.reset();
  EXPECT_EQ(RocksDBFilterLevelsJson(), "{\"databases\":[]}");
}

TEST_F(LevelsTest, SequentialLoadGetsWhatWasAsked) {
  Open(SmallTrees(), LevelsOptions());
  for (uint64_t i = 0; i < 100'000; ++i) Put(Name(i));
  Settle();
  const MeasuredTree tree = Measured();
  EXPECT_NEAR(tree.bits, 10, 0.5) << tree.text;
}

TEST_F(LevelsTest, WithoutTheListenerBitsAreUniformAndTheLogSaysWhatToAdd) {
  Options options = SmallTrees();
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy = NewRocksDBFilterPolicy(LevelsOptions());
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  db_ = testing::Open(options, path_);
  for (uint64_t i = 0; i < 20'000; ++i) Put(Scattered(i));
  Settle();
  const MeasuredTree tree = Measured();
  SCOPED_TRACE(tree.text);
  EXPECT_NEAR(tree.bits, 10.1, 0.2);
  EXPECT_GT(tree.rates, tree.uniform * 0.9);
  const std::string log = ReadFile(path_ + "/LOG");
  const size_t first = log.find("add listeners=deltabloom");
  EXPECT_NE(first, std::string::npos);
  EXPECT_EQ(log.find("add listeners=deltabloom", first + 1), std::string::npos);
}

TEST_F(LevelsTest, OptionsFileBringsPolicyAndListener) {
  Open(SmallTrees(), LevelsOptions(Layout::kAuto));
  Put("key");
  Settle();
  db_.reset();
  rocksdb::DBOptions db_options;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  rocksdb::ConfigOptions strict;
  strict.ignore_unknown_options = false;
  strict.ignore_unsupported_options = false;
  ASSERT_ROCKSDB_OK(
      rocksdb::LoadLatestOptions(strict, path_, &db_options, &families));
  Options loaded(db_options, families.at(0).options);
  ASSERT_EQ(loaded.listeners.size(), 1u);
  EXPECT_STREQ(loaded.listeners[0]->Name(), "deltabloom");
  EXPECT_EQ(Option(*PolicyIn(loaded), "allocation"), "levels");
  db_ = testing::Open(loaded, path_);
  for (uint64_t i = 0; i < 20'000; ++i) Put(Scattered(i));
  Settle();
  EXPECT_NE(RocksDBFilterLevelsJson().find("\"allocation\":\"levels\""),
            std::string::npos);
  EXPECT_EQ(ReadFile(path_ + "/LOG").find("add listeners=deltabloom"),
            std::string::npos);
}

}  // namespace
}  // namespace deltabloom::testing
