// The arithmetic of deltabloom estimate: trees, filters, budgets.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tools/deltabloom/estimate/model.h"
#include "util/layouts/layout.h"
#include "util/rates/layout_rates.h"
#include "util/rates/rates.h"

namespace deltabloom::tools {
namespace {

TreeOptions Keys(double keys) {
  TreeOptions options;
  options.keys = keys;
  return options;
}

std::vector<FilterEstimate> AtTenBits(const TreeOptions& options) {
  return EstimateFilters(BuildTree(options), {10});
}

const FilterEstimate& Find(const std::vector<FilterEstimate>& estimates,
                           std::string_view filter) {
  for (const FilterEstimate& estimate : estimates) {
    if (estimate.filter == filter) return estimate;
  }
  throw std::out_of_range(std::string(filter));
}

std::vector<double> BitsOf(const FilterEstimate& estimate) {
  std::vector<double> bits;
  for (const LevelFilters& level : estimate.levels) {
    bits.push_back(level.bits_per_key);
  }
  return bits;
}

TEST(EstimateTree, HoldsAllKeysFromTenThousandToATrillion) {
  for (double keys = 1e4; keys <= 1e12; keys *= 10) {
    for (const double ratio : {2.0, 4.0, 10.0}) {
      TreeOptions options = Keys(keys);
      options.size_ratio = ratio;
      const std::vector<TreeLevel> tree = BuildTree(options);
      ASSERT_FALSE(tree.empty());
      double sum = 0;
      for (size_t i = 0; i < tree.size(); ++i) {
        sum += tree[i].keys;
        EXPECT_GT(tree[i].keys, 0);
        EXPECT_GE(tree[i].tables, 1);
        EXPECT_EQ(tree[i].runs, tree[i].name == "level 0" ? tree[i].tables : 1);
        EXPECT_EQ(tree[i].bottommost, tree[i].name == "last level");
        if (i > 0 && tree[i - 1].name != "level 0") {
          EXPECT_NEAR(tree[i].keys / tree[i - 1].keys, ratio, 1e-9);
        }
      }
      EXPECT_NEAR(sum, keys, keys * 1e-9);
    }
  }
}

TEST(EstimateTree, FitsLevelsToTheBase) {
  TreeOptions options = Keys(1e9);
  const std::vector<TreeLevel> tree = BuildTree(options);
  ASSERT_EQ(tree.size(), 5u);
  EXPECT_EQ(tree[0].name, "level 0");
  EXPECT_EQ(tree[0].runs, 2);
  EXPECT_EQ(tree[4].name, "last level");
  EXPECT_LE(tree[1].keys * options.entry_bytes, options.level_base_bytes);
  EXPECT_GT(tree[2].keys * options.entry_bytes, options.level_base_bytes);
}

TEST(EstimateTree, SmallDatabasesAreInLevel0) {
  TreeOptions options = Keys(1000);
  ASSERT_EQ(BuildTree(options).size(), 1u);
  EXPECT_EQ(BuildTree(options)[0].name, "level 0");
  EXPECT_EQ(BuildTree(options)[0].tables, 1);
  options.level0_tables = 0;
  ASSERT_EQ(BuildTree(options).size(), 1u);
  EXPECT_EQ(BuildTree(options)[0].name, "last level");
  options.keys = 0;
  EXPECT_TRUE(BuildTree(options).empty());
}

TEST(EstimateTree, TakesLevelsAsAsked) {
  TreeOptions options = Keys(2.2e6);
  options.level0_tables = 0;
  options.levels = 5;
  const std::vector<TreeLevel> tree = BuildTree(options);
  ASSERT_EQ(tree.size(), 5u);
  EXPECT_NEAR(tree[0].keys, 2.2e6 / 11111, 1);
}

// All tables are in the last level.
TEST(EstimateFilters, OneRunReadsItsRate) {
  TreeOptions options = Keys(1e5);
  options.level0_tables = 0;
  const auto estimates = AtTenBits(options);
  for (const char* filter : {"classic", "local", "compact"}) {
    const FilterEstimate& estimate = Find(estimates, filter);
    const double rate = internal::RateForMillibits(
        internal::FindLayoutOfName(filter), 100'000, 10'000);
    EXPECT_DOUBLE_EQ(estimate.absent_reads, rate);
    EXPECT_DOUBLE_EQ(estimate.present_reads, 1);
    EXPECT_NEAR(estimate.bytes, 125'000, 250);
  }
  EXPECT_EQ(Find(estimates, "compact").absent_reads,
            Find(estimates, "compact, uniform").absent_reads);
}

// Level 0 alone is above the last level that does not exist yet.
TEST(EstimateFilters, TheDefaultHasMoreBitsAboveTheLastLevel) {
  EXPECT_EQ(BitsOf(Find(AtTenBits(Keys(1e9)), "compact")),
            (std::vector<double>{12.5, 12.5, 12.5, 12.5, 10}));
  EXPECT_EQ(BitsOf(Find(AtTenBits(Keys(1e5)), "compact")),
            std::vector<double>{12.5});
  for (const char* filter : {"rocksdb-bloom", "rocksdb-ribbon", "classic",
                             "local", "compact, uniform"}) {
    EXPECT_EQ(BitsOf(Find(AtTenBits(Keys(1e9)), filter)),
              std::vector<double>(5, 10))
        << filter;
  }
}

// A user who enters the text gets the filters of the row.
TEST(EstimateFilters, RowsHaveTheTextOfTheirPolicy) {
  std::vector<std::string> texts;
  for (const FilterEstimate& row : AtTenBits(Keys(1e9))) {
    texts.push_back(PolicyText(row.policy_pattern, row.bits_per_key));
  }
  EXPECT_EQ(texts, (std::vector<std::string>{
                       "", "", "deltabloom:10:classic", "deltabloom:10:local",
                       "{id=deltabloom;bits_per_key=10;upper_bits_per_key=10}",
                       "deltabloom:10"}));
  EXPECT_EQ(PolicyText("deltabloom:BITS", 9.873), "deltabloom:9.873");
}

// RocksDB 7.8.3, asked for as much as makes it store 10 bits per key of many
// keys, stores 13.0 of 200 keys, and 933 of a million lookups of 40 such
// filters were false positives.
TEST(EstimateFilters, RibbonsOfFewKeysRoundUp) {
  const auto few = AtTenBits(Keys(200));
  const FilterEstimate& rounded = Find(few, "rocksdb-ribbon");
  EXPECT_EQ(rounded.bytes, 325);
  EXPECT_NEAR(rounded.absent_reads, 0.00093, 0.00006);
  const auto many = AtTenBits(Keys(100'000));
  const FilterEstimate& plain = Find(many, "rocksdb-ribbon");
  EXPECT_EQ(plain.bytes, 125'000);
  EXPECT_EQ(plain.absent_reads, internal::RocksDBRibbonRate(10));
}

// The mean over both tables of level 0, one of which is newer.
TEST(EstimateFilters, PresentKeysPayForNewerRuns) {
  TreeOptions options = Keys(100'000);
  options.write_buffer_bytes = 5e6;
  const auto estimates = AtTenBits(options);
  ASSERT_EQ(BuildTree(options).size(), 1u);
  ASSERT_EQ(BuildTree(options)[0].runs, 2);
  const FilterEstimate& estimate = Find(estimates, "local");
  const double rate = estimate.levels[0].rate;
  EXPECT_DOUBLE_EQ(estimate.absent_reads, 2 * rate);
  EXPECT_DOUBLE_EQ(estimate.present_reads, 1 + rate / 2);
}

// By the rates of six runs the default has (1 + 5 / 2^2.5) / 6, which is .31,
// of the false positives of uniform bits; 2.5 bits of a tenth of the keys are a
// fortieth of the bytes.
TEST(EstimateFilters, TheDefaultReadsLess) {
  const auto estimates = AtTenBits(Keys(1e9));
  EXPECT_EQ(estimates.front().filter, "rocksdb-bloom");
  EXPECT_EQ(estimates.back().filter, "compact");
  const FilterEstimate& uniform = Find(estimates, "compact, uniform");
  const FilterEstimate& compact = estimates.back();
  EXPECT_NEAR(compact.absent_reads / uniform.absent_reads, 0.32, 0.01);
  EXPECT_NEAR(compact.bytes / uniform.bytes, 1.025, 0.001);
  EXPECT_LT(compact.absent_reads, 0.06 * estimates.front().absent_reads);
}

TEST(EstimateFilters, KeepWithinABudget) {
  const std::vector<TreeLevel> tree = BuildTree(Keys(1e8));
  for (const double bytes : {1e8, 2e8, 3e8}) {
    for (const FilterEstimate& row : EstimateFilters(tree, {0, bytes})) {
      EXPECT_LE(row.bytes, bytes) << row.filter;
      EXPECT_GT(row.bytes, bytes * 0.999) << row.filter;
      EXPECT_EQ(row.remark, "");
    }
  }
  for (const double reads : {0.1, 0.01, 0.001}) {
    for (const FilterEstimate& row : EstimateFilters(tree, {0, 0, reads})) {
      if (row.remark == "does not reach the rate") {
        EXPECT_EQ(row.filter, "classic");
        continue;
      }
      EXPECT_EQ(row.remark, "");
      EXPECT_LE(row.absent_reads, reads) << row.filter;
      EXPECT_GT(row.absent_reads, reads * 0.5) << row.filter;
    }
  }
  const double bits = EstimateFilters(tree, {0, 0, 0.01}).back().bits_per_key;
  EXPECT_GT(EstimateFilters(tree, {bits - 0.001}).back().absent_reads, 0.01);
}

TEST(EstimateFilters, SayWhereTheyEnd) {
  TreeOptions options = Keys(1e9);
  options.table_bytes = 1e10;
  const auto estimates = AtTenBits(options);
  EXPECT_EQ(Find(estimates, "classic").remark,
            "too many keys in a filter for its 32-bit hash");
  EXPECT_EQ(Find(estimates, "local").remark, "");
  for (const FilterEstimate& row :
       EstimateFilters(BuildTree(Keys(1e9)), {0, 1e6})) {
    EXPECT_EQ(row.remark, "too few bytes for filters");
    EXPECT_EQ(row.bytes, 0);
    EXPECT_EQ(row.absent_reads, 6);
  }
}

TEST(EstimateFilters, AreTotal) {
  EXPECT_TRUE(EstimateFilters({}, {10}).back().levels.empty());
  for (const Budget& budget :
       {Budget{0.5}, Budget{100}, Budget{0, 1}, Budget{0, 0, 1e-9}}) {
    for (const FilterEstimate& estimate :
         EstimateFilters(BuildTree(Keys(1e6)), budget)) {
      EXPECT_TRUE(std::isfinite(estimate.absent_reads));
      EXPECT_GE(estimate.present_reads, 1);
      EXPECT_LE(estimate.bits_per_key, 100);
    }
  }
}

}  // namespace
}  // namespace deltabloom::tools
