// deltabloom estimate of databases that are open here: the reads that it says
// are those of lookups.

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "tests/rocksdb/test_db.h"
#include "tests/tools/tool_test.h"

namespace deltabloom {
namespace {

using nlohmann::json;
using rocksdb::ColumnFamilyHandle;
using testing::Key;

class EstimateRocksDB : public test::ToolTest {
 protected:
  EstimateRocksDB() : ToolTest("estimate") {}

  void Open(const testing::PolicyPtr& policy) {
    options_ = testing::MakeOptions({policy});
    db_ = testing::Open(options_, path_);
  }

  void TearDown() override {
    for (ColumnFamilyHandle* family : families_) {
      ASSERT_OK(db_->DestroyColumnFamilyHandle(family));
    }
  }

  ColumnFamilyHandle* Add(const std::string& name,
                          const testing::PolicyPtr& policy) {
    ColumnFamilyHandle* family = nullptr;
    EXPECT_OK(
        db_->CreateColumnFamily(testing::MakeOptions({policy}), name, &family));
    families_.push_back(family);
    return family;
  }

  // Writes a table of even numbers.
  void Load(ColumnFamilyHandle* family, int begin, int end, int step = 1) {
    for (int i = begin; i < end; i += step) {
      ASSERT_OK(db_->Put({}, family, Key(2 * i), "value"));
    }
    ASSERT_OK(db_->Flush({}, family));
  }

  // Three runs: the last level, a table of level 0 for all keys, and one with
  // some keys of a quarter of the range.
  void LoadRuns(ColumnFamilyHandle* family) {
    Load(family, 0, kKeys);
    ASSERT_OK(db_->CompactRange({}, family, nullptr, nullptr));
    Load(family, 0, kKeys);
    Load(family, kKeys / 4, kKeys / 2, 10);
  }

  // Data blocks read per lookup of an odd number, each of which is looked up
  // once.
  double Measure(ColumnFamilyHandle* family) {
    const auto blocks = [&] {
      return options_.statistics->getTickerCount(
                 rocksdb::BLOCK_CACHE_DATA_HIT) +
             options_.statistics->getTickerCount(
                 rocksdb::BLOCK_CACHE_DATA_MISS);
    };
    const uint64_t before = blocks();
    std::string value;
    for (int i = 0; i < kKeys; ++i) {
      EXPECT_TRUE(db_->Get({}, family, Key(2 * i + 1), &value).IsNotFound());
    }
    return static_cast<double>(blocks() - before) / kKeys;
  }

  // Returns the estimate of this column family, as JSON.
  json Estimate(const std::string& name, const std::string& arguments = "") {
    const json document = RunJson(arguments + " " + path_, 0);
    EXPECT_EQ(err_, "");
    for (const json& family : document.at("column_families")) {
      if (family.at("name") == name) return family;
    }
    return {};
  }

  static json Find(const json& rows, const std::string& filter,
                   const std::string& allocation) {
    for (const json& row : rows) {
      if (row.at("filter") == filter && row.at("allocation") == allocation) {
        return row;
      }
    }
    return {};
  }

  static constexpr int kKeys = 40000;
  const std::string path_ = File("db");
  rocksdb::Options options_;
  std::vector<ColumnFamilyHandle*> families_;
  std::unique_ptr<rocksdb::DB> db_;
};

TEST_F(EstimateRocksDB, WithoutFiltersEachRunIsReadAsFarAsItReaches) {
  Open(nullptr);
  LoadRuns(db_->DefaultColumnFamily());
  const json family = Estimate("default");
  const double reads = family.at("now").at("absent_reads");
  EXPECT_NEAR(reads, 2 + 21000.0 / 81000, 0.001);
  // A key behind the last one of a block may read two blocks.
  EXPECT_NEAR(Measure(db_->DefaultColumnFamily()), 2.25, 0.015);
  ASSERT_EQ(family.at("levels").size(), 2u);
  test::ExpectMembers(family.at("levels")[0], {{"level", 0},
                                               {"tables", 2},
                                               {"keys", 41000},
                                               {"filters", {{"none", 2}}},
                                               {"filter_bytes", 0}});
  EXPECT_NEAR(family.at("levels")[0].at("filters_asked"), 1.259, 0.001);
  ASSERT_EQ(family.at("tree").size(), 3u);
  test::ExpectMembers(family.at("tree")[0], {{"keys", 1000}, {"tables", 1}});
  // Nothing to compare with: 10 bits per key, and no bytes for the same reads.
  const json& filters = family.at("filters");
  EXPECT_EQ(filters.size(), 10u);
  EXPECT_NEAR(Find(filters, "rocksdb-bloom", "uniform").at("bits_per_key"), 10,
              0.05);
  EXPECT_EQ(family.at("same_reads").size(), 0u);
  EXPECT_TRUE(family.at("refilter").is_null());
}

TEST_F(EstimateRocksDB, ColumnFamiliesAreEachTheirOwn) {
  Open(testing::RocksDBBloom(6));
  ColumnFamilyHandle* const compact =
      Add("c", testing::PolicyFromString("deltabloom:4:compact"));
  ColumnFamilyHandle* const bare = Add("bare", nullptr);
  LoadRuns(db_->DefaultColumnFamily());
  LoadRuns(compact);
  Load(bare, 0, 1000);
  const std::map<std::string, std::pair<ColumnFamilyHandle*, double>> expected =
      {{"default", {db_->DefaultColumnFamily(), 0.129}},
       {"c", {compact, 0.152}}};
  for (const auto& [name, of] : expected) {
    const double reads = Estimate(name).at("now").at("absent_reads");
    const double measured = Measure(of.first);
    EXPECT_NEAR(reads, of.second, 0.002) << name;
    EXPECT_NEAR(reads / measured, 1, 0.1) << name << measured;
  }
  EXPECT_EQ(Estimate("bare").at("now").at("absent_reads"), 1);
  EXPECT_EQ(Estimate("bare").at("filter_policy"), "nullptr");
}

// The database reads with other filters what the estimate says for them.
TEST_F(EstimateRocksDB, OtherFiltersReadWhatItSays) {
  Open(testing::RocksDBBloom(6));
  LoadRuns(db_->DefaultColumnFamily());
  const json before = Estimate("default", "--bits-per-key 5");
  for (const char* layout : {"local", "compact"}) {
    ColumnFamilyHandle* const family =
        Add(layout,
            testing::PolicyFromString(std::string("deltabloom:5:") + layout));
    LoadRuns(family);
    const double reads =
        Find(before.at("filters"), layout, "uniform").at("absent_reads");
    EXPECT_NEAR(reads / Measure(family), 1, 0.1) << layout << reads;
  }
  command_ = "refilter";
  const json refilter =
      RunJson("--dry-run --filter deltabloom:10:compact " + path_, 0);
  command_ = "estimate";
  double after = 0;
  for (const json& family : refilter.at("column_families")) {
    if (family.at("name") == "default") after = family.at("reads_after");
  }
  const json by_refilter = Estimate("default").at("refilter");
  EXPECT_NEAR(by_refilter.at("absent_reads").get<double>() / after, 1, 0.02);
  EXPECT_EQ(by_refilter.at("bytes"), before.at("filter_bytes"));
}

TEST_F(EstimateRocksDB, TheBytesForTheReadsOfNow) {
  Open(testing::RocksDBBloom(10));
  LoadRuns(db_->DefaultColumnFamily());
  const json family = Estimate("default");
  const double reads = family.at("now").at("absent_reads");
  const double bytes = family.at("now").at("bytes");
  const json same = Find(family.at("same_reads"), "compact", "levels");
  EXPECT_LE(same.at("absent_reads"), reads);
  EXPECT_GT(same.at("absent_reads").get<double>() / reads, 0.97);
  EXPECT_NEAR(same.at("bytes").get<double>() / bytes, 0.686, 0.02);
  // At these bytes the other filters read less.
  const json levels = Find(family.at("filters"), "compact", "levels");
  EXPECT_NEAR(levels.at("bytes").get<double>() / bytes, 1, 0.01);
  EXPECT_NEAR(reads / levels.at("absent_reads").get<double>(), 9.3, 0.5);
  // A little of the total stays free.
  const json total = Find(family.at("filters"), "auto", "filter_memory");
  EXPECT_LE(total.at("bytes"), bytes);
  EXPECT_GT(total.at("absent_reads"), levels.at("absent_reads"));
  // --memory is that of all column families, --rate is that of each.
  ColumnFamilyHandle* const other = Add("other", testing::RocksDBBloom(10));
  Load(other, 0, 81000);
  const json half = Estimate("default", "--memory 90000");
  EXPECT_NEAR(Find(half.at("filters"), "local", "uniform").at("bytes"), 45000,
              200);
  const json rate = Estimate("default", "--rate 0.001");
  EXPECT_NEAR(
      Find(rate.at("same_reads"), "compact", "uniform").at("absent_reads"),
      0.001, 0.0001);
}

}  // namespace
}  // namespace deltabloom
