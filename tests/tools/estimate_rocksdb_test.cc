// deltabloom estimate of databases that are open here: the reads that it says
// are those of lookups.

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "deltabloom/rocksdb.h"
#include "tests/folder.h"
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
    rocksdb::CompactRangeOptions rewrite;
    rewrite.bottommost_level_compaction =
        rocksdb::BottommostLevelCompaction::kForce;
    ASSERT_OK(db_->CompactRange(rewrite, family, nullptr, nullptr));
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

  static json Find(const json& rows, const std::string& filter) {
    for (const json& row : rows) {
      if (row.at("filter") == filter) return row;
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
  EXPECT_EQ(filters.size(), 6u);
  EXPECT_EQ(Find(filters, "rocksdb-bloom").at("bits_per_key"), 10);
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
       {"c", {compact, 0.0824}}};
  for (const auto& [name, of] : expected) {
    const double reads = Estimate(name).at("now").at("absent_reads");
    const double measured = Measure(of.first);
    EXPECT_NEAR(reads, of.second, 0.002) << name;
    EXPECT_NEAR(reads / measured, 1, 0.1) << name << measured;
  }
  EXPECT_EQ(Estimate("bare").at("now").at("absent_reads"), 1);
  EXPECT_EQ(Estimate("bare").at("filter_policy"), "nullptr");
  EXPECT_EQ(Estimate("bare").at("same_reads").size(), 0u);
  EXPECT_EQ(Estimate("bare", "--rate 0.01").at("same_reads").size(), 6u);
}

// The database reads with other filters what the estimate says for them.
TEST_F(EstimateRocksDB, OtherFiltersReadWhatItSays) {
  Open(testing::RocksDBBloom(6));
  LoadRuns(db_->DefaultColumnFamily());
  const json before = Estimate("default", "--bits-per-key 5");
  for (const char* filter : {"local", "compact, uniform", "compact"}) {
    const json row = Find(before.at("filters"), filter);
    ColumnFamilyHandle* const family =
        Add(filter, testing::PolicyFromString(row.at("policy")));
    LoadRuns(family);
    const double reads = row.at("absent_reads");
    EXPECT_NEAR(reads / Measure(family), 1, 0.1) << filter << reads;
    EXPECT_NEAR(Estimate(filter).at("filter_bytes").get<double>() /
                    row.at("bytes").get<double>(),
                1, 0.001)
        << filter;
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
  const json same = Find(family.at("same_reads"), "compact");
  EXPECT_LE(same.at("absent_reads"), reads);
  EXPECT_GT(same.at("absent_reads").get<double>() / reads, 0.99);
  EXPECT_NEAR(same.at("bytes").get<double>() / bytes, 0.72, 0.01);
  // At these bytes the other filters read less.
  const json compact = Find(family.at("filters"), "compact");
  EXPECT_NEAR(compact.at("bytes").get<double>() / bytes, 1, 0.01);
  EXPECT_NEAR(reads / compact.at("absent_reads").get<double>(), 6.55, 0.3);
  const json rate = Estimate("default", "--rate 0.001");
  const json at_rate = Find(rate.at("same_reads"), "compact, uniform");
  EXPECT_LE(at_rate.at("absent_reads"), 0.001);
  EXPECT_GT(at_rate.at("absent_reads"), 0.00099);
  test::ExpectHas(Run("--rate 0.001 " + path_).out,
                  "For at most 0.00100 reads of an absent key: "
                  "filter_policy=deltabloom:");
  // With a thousandth of a bit less it would be more.
  const double less = at_rate.at("bits_per_key").get<double>() - 0.001;
  const json below =
      Estimate("default", "--bits-per-key " + std::to_string(less));
  EXPECT_GT(Find(below.at("filters"), "compact, uniform").at("absent_reads"),
            0.001);
}

// What the user sets by the printed text makes the filters as large as it says,
// and a thousandth of a bit more makes them larger than the total.
TEST_F(EstimateRocksDB, ATotalIsThatOfAllColumnFamilies) {
  Open(testing::PolicyFromString("deltabloom:10"));
  ColumnFamilyHandle* const other =
      Add("other", testing::PolicyFromString("deltabloom:7"));
  LoadRuns(db_->DefaultColumnFamily());
  LoadRuns(other);
  const auto filter_bytes = [&] {
    return Estimate("default").at("filter_bytes").get<double>() +
           Estimate("other").at("filter_bytes").get<double>();
  };
  constexpr double kTotal = 150000;
  const json total =
      RunJson("--filter-memory 150000 " + path_, 0).at("filter_memory");
  const double bits = total.at("bits_per_key");
  // 80,000 keys of the last levels have b bits, 82,000 have b + 2.5.
  EXPECT_NEAR(bits, (8 * kTotal - 82000 * 2.5) / 162000, 0.02);
  test::ExpectMembers(total, {{"bytes", kTotal}, {"layout", "compact"}});
  EXPECT_NEAR(total.at("upper_bits_per_key"), bits + 2.5, 1e-9);
  RocksDBFilterOptions fitted;
  ASSERT_TRUE(FitRocksDBFilters(db_.get(), {db_->DefaultColumnFamily(), other},
                                150000, &fitted));
  EXPECT_EQ(fitted.bits_per_key, bits);

  for (const char* name : {"default", "other"}) {
    const json family = Estimate(name, "--filter-memory 150000");
    EXPECT_EQ(Find(family.at("filters"), "compact").at("bits_per_key"), bits);
  }
  const test::Result text = Run("--filter-memory 150000 " + path_);
  std::ostringstream shown;
  shown << bits;
  test::ExpectHasAll(
      text.out,
      {"within 146 KiB: bits_per_key=" + shown.str() + "\n",
       "    default: bits_per_key=10\n", "    other: bits_per_key=7\n",
       R"(db->SetOptions(family, {{"block_based_table_factory", )"
       R"("{filter_policy={bits_per_key=)" +
           shown.str() + R"(;upper_bits_per_key=unset;}}"}}))"});
  for (ColumnFamilyHandle* family : {db_->DefaultColumnFamily(), other}) {
    ASSERT_OK(db_->SetOptions(family,
                              {{"block_based_table_factory",
                                "{filter_policy={bits_per_key=" + shown.str() +
                                    ";upper_bits_per_key=unset;}}"}}));
    LoadRuns(family);
  }
  // Later RocksDBs have optimize_filters_for_memory, which rounds sizes.
  EXPECT_NEAR(filter_bytes(), double{total.at("filter_bytes")}, 50);
  EXPECT_NEAR(filter_bytes(), kTotal, 50);

  const test::Result little = Run("--filter-memory 5000 " + path_);
  EXPECT_EQ(little.status, 2);
  EXPECT_EQ(little.out, "");
  EXPECT_EQ(little.err,
            "deltabloom estimate: --filter-memory 4.88 KiB is too little: with "
            "the least bits_per_key, 0.5, the filters take 35.1 KiB\n");
}

// Each layout has its own number, and RocksDB's policy has no bits_per_key.
TEST_F(EstimateRocksDB, ATotalIsForThePolicyThatIsThere) {
  Open(testing::RocksDBBloom(10));
  LoadRuns(db_->DefaultColumnFamily());
  const auto total = [this] {
    return RunJson("--filter-memory 101250 " + path_, 0).at("filter_memory");
  };
  EXPECT_EQ(total().at("layout"), "compact");
  const std::string text = Run("--filter-memory 101250 " + path_).out;
  test::ExpectHasAll(
      text, {"to set it: filter_policy=deltabloom:8.", " at the next start\n",
             "    default: bloomfilter:10"});
  EXPECT_EQ(text.find("SetOptions"), std::string::npos);
  Add("local", testing::PolicyFromString("deltabloom:12:local"));
  EXPECT_EQ(total().at("layout"), "compact");  // it has no tables
  Load(families_.back(), 0, 1);
  const json local = total();
  EXPECT_EQ(local.at("layout"), "local");
  EXPECT_EQ(local.at("upper_bits_per_key"), local.at("bits_per_key"));
  EXPECT_NEAR(local.at("bits_per_key"), 10, 0.02);
}

// Under FIFO no table gets more bits than others.
TEST_F(EstimateRocksDB, FifoHasOneNumber) {
  options_ = testing::MakeOptions({testing::PolicyFromString("deltabloom:10")});
  options_.compaction_style = rocksdb::kCompactionStyleFIFO;
  db_ = testing::Open(options_, path_);
  Load(db_->DefaultColumnFamily(), 0, 40000);
  Load(db_->DefaultColumnFamily(), 0, 40000);
  const json total =
      RunJson("--filter-memory 100000 " + path_, 0).at("filter_memory");
  EXPECT_NEAR(total.at("bits_per_key"), 10, 0.02);
  const json family = Estimate("default", "--bits-per-key 10");
  EXPECT_EQ(family.at("now").at("bytes"),
            Find(family.at("filters"), "compact").at("bytes"));
}

}  // namespace
}  // namespace deltabloom
