// What tables get, in trees that are told as events: no database, so many
// shapes.
#include "engines/rocksdb/levels/tree_bits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "engines/rocksdb/levels/level_bits.h"
#include "tests/random.h"
#include "util/rates/layout_rates.h"

namespace deltabloom::internal {
namespace {

const RateCurve& Curve(Layout layout = Layout::kCompact) {
  return CurveOf(layout).curve;
}

// A leveled tree of `levels` levels below level 0, each `ratio` times the one
// above, which is rewritten for as long as it takes to be steady. Every table
// is written for its level and stays there, but for the part of the last level
// that is written for the level above and moved.
class SteadyTree {
 public:
  SteadyTree(int levels, double ratio, double asked, Layout layout)
      : levels_(levels), ratio_(ratio), asked_(asked), layout_(layout) {}

  void Rewrite(bool moved_to_last) {
    // From below, as compactions would have filled it.
    for (int level = levels_; level >= 1; --level) {
      const bool last = level == levels_;
      NewTable table;
      table.level = last && moved_to_last ? level - 1 : level;
      table.bottommost = last;
      Replace(level, SizeOf(level), table);
    }
    for (int i = 0; i < 4; ++i) {
      Flush();
      tree_.SetTree(live_);
    }
  }

  TreeBits& tree() { return tree_; }
  double asked() const { return asked_; }

  Allocation Ours() const {
    Allocation ours;
    for (const TreeRun& run : tree_.Runs()) {
      ours.rates += Curve(layout_).At(run.filter_bits / run.keys).rate;
      ours.bits += run.filter_bits;
      ours.keys += run.keys;
    }
    return ours;
  }
  Allocation Best(double bits_per_key) const {
    std::vector<SortedRun> runs;
    for (const TreeRun& run : tree_.Runs()) runs.push_back({run.keys, 1});
    return AllocateBits(Curve(layout_), runs, bits_per_key);
  }

 private:
  static constexpr uint64_t kFlushKeys = 1000;

  uint64_t SizeOf(int level) const {
    return static_cast<uint64_t>(4 * kFlushKeys * std::pow(ratio_, level - 1));
  }

  void Replace(int level, uint64_t keys, const NewTable& table) {
    // In four parts, each a compaction of its own.
    for (uint64_t part = 0; part < 4; ++part) {
      const uint64_t slot = static_cast<uint64_t>(level) * 4 + part;
      if (slots_.size() <= slot) slots_.resize(slot + 1, 0);
      const uint64_t old = slots_[slot];
      slots_[slot] = Write(keys / 4, table);
      live_.erase(std::remove_if(
                      live_.begin(), live_.end(),
                      [old](const LiveTable& one) { return one.file == old; }),
                  live_.end());
      if (table.level != level) {
        live_.push_back({slots_[slot], table.level, 0});
        tree_.SetTree(live_);
        live_.back().level = level;
      } else {
        live_.push_back({slots_[slot], level, 0});
      }
      tree_.SetTree(live_);
      if (old != 0) tree_.Forget(old);
    }
  }

  void Flush() {
    // At most four files of level 0.
    std::vector<uint64_t> flushed;
    for (const LiveTable& one : live_) {
      if (one.level == 0) flushed.push_back(one.file);
    }
    if (flushed.size() == 4) {
      live_.erase(
          std::remove_if(live_.begin(), live_.end(),
                         [](const LiveTable& one) { return one.level == 0; }),
          live_.end());
      tree_.SetTree(live_);
    }
    live_.push_back({Write(kFlushKeys, NewTable()), 0, 0});
    tree_.Flushed(kFlushKeys);
  }

  uint64_t Write(uint64_t keys, const NewTable& table) {
    tree_.SetTarget(asked_);
    const double bits = tree_.BitsFor(table, Curve(layout_)).bits_per_key;
    TableFacts facts;
    facts.keys = keys;
    facts.filter_bits = bits * static_cast<double>(keys);
    facts.origin = table.bottommost ? kBottommost : table.level;
    tree_.Learn(++number_, facts);
    return number_;
  }

  int levels_;
  double ratio_;
  double asked_;
  Layout layout_;
  TreeBits tree_;
  std::vector<LiveTable> live_;
  std::vector<uint64_t> slots_;
  uint64_t number_ = 0;
};

TEST(TreeBitsTest, SteadyTreesGetTheGainAtTheBytesAsked) {
  for (const Layout layout :
       {Layout::kCompact, Layout::kLocal, Layout::kAuto, Layout::kClassic}) {
    for (const double ratio : {4.0, 10.0}) {
      for (const int levels : {2, 4}) {
        for (const double asked : {5.0, 10.0, 16.0}) {
          for (const bool moved : {false, true}) {
            SteadyTree tree(levels, ratio, asked, layout);
            for (int i = 0; i < 8; ++i) tree.Rewrite(moved && levels > 1);
            const Allocation ours = tree.Ours();
            const Allocation best = tree.Best(ours.bits / ours.keys);
            SCOPED_TRACE(testing::Message()
                         << LayoutName(layout) << " T " << ratio << ", "
                         << levels << " levels, " << asked << " bits"
                         << (moved ? ", moved" : ""));
            EXPECT_NEAR(ours.bits / ours.keys, asked, asked * 0.05);
            EXPECT_LT(ours.rates, best.rates / 0.8);
          }
        }
      }
    }
  }
}

// Flushes that are moved to the last level without being rewritten.
TEST(TreeBitsTest, SequentialLoadGetsWhatWasAsked) {
  TreeBits tree;
  std::vector<LiveTable> live;
  double bits = 0;
  double keys = 0;
  for (uint64_t file = 1; file <= 500; ++file) {
    tree.SetTarget(10);
    const double given = tree.BitsFor(NewTable(), Curve()).bits_per_key;
    TableFacts facts;
    facts.keys = 1000;
    facts.origin = 0;
    facts.filter_bits = 1000 * given;
    bits += facts.filter_bits;
    keys += 1000;
    tree.Learn(file, facts);
    tree.Flushed(1000);
    live.push_back({file, 0, 0});
    if (live.size() >= 2) live[live.size() - 2].level = 6;
    tree.SetTree(live);
    ASSERT_NEAR(bits / keys, 10, 0.05) << file;
  }
}

// All keys are there and have what was asked, when levels comes to them.
TEST(TreeBitsTest, AnOldDatabaseNeverTakesMuchMore) {
  TreeBits tree;
  std::vector<LiveTable> live;
  for (uint64_t file = 1; file <= 100; ++file) {
    TableFacts facts;
    facts.keys = 10'000;
    facts.filter_bits = 100'000;
    tree.Learn(file, facts);
    live.push_back({file, 6, 0});
  }
  tree.SetTree(live);
  for (uint64_t file = 101; file <= 600; ++file) {
    tree.SetTarget(10);
    TableFacts facts;
    facts.keys = 1000;
    facts.origin = file % 2 == 0 ? 0 : 5;
    NewTable table;
    table.level = facts.origin;
    facts.filter_bits =
        1000 * std::max(tree.BitsFor(table, Curve()).bits_per_key, 0.0);
    tree.Learn(file, facts);
    live.push_back({file, facts.origin, 0});
    // Level 5 holds a quarter of the last, level 0 four files.
    if (live.size() > 354) live.erase(live.begin() + 100);
    tree.SetTree(live);
    ASSERT_LT(tree.AverageBits(), 10.51) << file;
  }
}

// Level 0 among many keys is local, level 0 that holds all keys compact.
TEST(TreeBitsTest, AutoTakesTheLayoutOfLevel0ByWhatItGets) {
  for (const uint64_t last : {uint64_t{20'000'000}, uint64_t{0}}) {
    TreeBits tree;
    std::vector<LiveTable> live;
    for (uint64_t file = 1; file <= 4; ++file) {
      tree.Learn(file, {1000, 10'000, 0});
      tree.Flushed(1000);
      live.push_back({file, 0, 0});
    }
    if (last > 0) {
      tree.Learn(5, {last, 9.9 * static_cast<double>(last), kBottommost});
      live.push_back({5, 6, 0});
    }
    tree.SetTree(live);
    tree.SetTarget(10);
    const LevelBits flush = BitsOfTable(tree, NewTable(), Layout::kAuto);
    NewTable below;
    below.level = 6;
    below.bottommost = true;
    const LevelBits lowest = BitsOfTable(tree, below, Layout::kAuto);
    EXPECT_STREQ(lowest.layout->name, "compact");
    EXPECT_NEAR(lowest.millibits_per_key, 10'000, 600);
    if (last > 0) {
      EXPECT_STREQ(flush.layout->name, "local");
      EXPECT_GT(flush.millibits_per_key, 25'000u);
      // A layout by name is kept, classic up to 15 bits per key.
      EXPECT_STREQ(BitsOfTable(tree, NewTable(), Layout::kCompact).layout->name,
                   "compact");
      EXPECT_STREQ(BitsOfTable(tree, NewTable(), Layout::kLocal).layout->name,
                   "local");
      EXPECT_STREQ(BitsOfTable(tree, NewTable(), Layout::kClassic).layout->name,
                   "compact");
      EXPECT_STREQ(BitsOfTable(tree, below, Layout::kClassic).layout->name,
                   "classic");
    } else {
      EXPECT_STREQ(flush.layout->name, "compact");
      EXPECT_NEAR(flush.millibits_per_key, 10'000, 1'500);
    }
  }
}

TEST(TreeBitsTest, LimitsThatMakeNoSenseAreNone) {
  TreeBits tree;
  tree.Learn(1, {1000, 10'000, 0});
  tree.Learn(2, {100'000, 1'000'000, kBottommost});
  tree.SetTree({{1, 0, 0}, {2, 6, 0}});
  tree.SetTarget(10);
  const double without = tree.BitsFor(NewTable(), Curve()).bits_per_key;
  const double infinite = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double bad : {0.0, -1.0, nan}) {
    for (const TreeLimits& limits :
         {TreeLimits{bad, 1000, 4, false}, TreeLimits{4, bad, 4, false},
          TreeLimits{4, 1000, bad, true}}) {
      tree.SetLimits(limits);
      EXPECT_EQ(tree.BitsFor(NewTable(), Curve()).bits_per_key, without);
    }
  }
  tree.SetLimits({4, infinite, infinite, true});
  const double bits = tree.BitsFor(NewTable(), Curve()).bits_per_key;
  EXPECT_TRUE(bits >= 10 && bits <= 1000) << bits;
}

TEST(TreeBitsTest, AnyLimitThatChangesCounts) {
  TreeBits tree;
  const TreeLimits limits = {4, 1000, 10, false};
  std::vector<TreeLimits> others(4, limits);
  others[0].level0_files = 5;
  others[1].base_keys = 2000;
  others[2].ratio = 8;
  others[3].dynamic = true;
  for (const TreeLimits& other : others) {
    tree.SetLimits(limits);
    EXPECT_TRUE(tree.limits() == limits);
    tree.SetLimits(other);
    EXPECT_EQ(tree.limits().level0_files, other.level0_files);
    EXPECT_EQ(tree.limits().base_keys, other.base_keys);
    EXPECT_EQ(tree.limits().ratio, other.ratio);
    EXPECT_EQ(tree.limits().dynamic, other.dynamic);
  }
}

TEST(TreeBitsTest, ForgottenTablesAreGoneFromAnyLevel) {
  TreeBits tree;
  for (const int level : {0, 1, 6}) {
    tree.Learn(1, {1000, 10'000, level});
    tree.SetTree({{1, level, 0}});
    EXPECT_EQ(tree.keys(), 1000);
    tree.Forget(1);
    EXPECT_EQ(tree.keys(), 0) << level;
    EXPECT_EQ(tree.files(), 0u);
    EXPECT_TRUE(tree.Runs().empty());
  }
}

TEST(TreeBitsTest, AnEmptyTreeAndWhatMakesNoSense) {
  TreeBits tree;
  NewTable table;
  EXPECT_EQ(tree.BitsFor(table, Curve()).bits_per_key, 0);
  for (const double asked : {0.0, 0.3, 10.0, 1000.0}) {
    tree.SetTarget(asked);
    for (const int level : {0, 1, 6, 1000}) {
      table.level = level;
      for (const bool bottommost : {false, true}) {
        table.bottommost = bottommost;
        EXPECT_EQ(tree.BitsFor(table, Curve()).bits_per_key, asked);
      }
    }
  }
  // Tables without keys, files that come and go twice, unknown ones.
  tree.Forget(7);
  tree.Flushed(0);
  tree.Learn(1, TableFacts());
  tree.SetTree({{1, 0, 0}, {2, 3, 0}, {2, 4, 0}, {3, 6, 100}});
  tree.Edit({1, 2, 99}, {{1, 1, 0}, {3, 5, 0}});
  tree.Forget(3);
  tree.Forget(3);
  EXPECT_EQ(tree.keys(), 0);
  tree.SetTree({});
  EXPECT_EQ(tree.Runs().size(), 0u);
}

TEST(TreeBitsTest, RandomEventsGiveLegalBits) {
  const uint64_t seed = test::SeedOfThisRun();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  test::Random random(seed);
  for (int round = 0; round < 20; ++round) {
    TreeBits tree;
    std::vector<LiveTable> live;
    for (uint64_t file = 1; file < 200; ++file) {
      TableFacts facts;
      facts.keys = random.Below(uint64_t{1} << random.Below(40));
      facts.origin = static_cast<int>(random.Below(8)) - 1;
      if (facts.origin == 6) facts.origin = kBottommost;
      facts.filter_bits = random.Below(5) == 0
                              ? -1
                              : static_cast<double>(facts.keys) *
                                    static_cast<double>(random.Below(30));
      tree.Learn(file, facts);
      tree.Flushed(facts.keys);
      live.push_back({file, static_cast<int>(random.Below(7)), facts.keys});
      if (random.Below(3) == 0) {
        live[random.Below(live.size())].level =
            static_cast<int>(random.Below(7));
      }
      if (random.Below(3) == 0) {
        live.erase(live.begin() +
                   static_cast<std::ptrdiff_t>(random.Below(live.size())));
      }
      tree.SetTree(live);
      tree.SetLimits({static_cast<double>(random.Below(6)),
                      static_cast<double>(random.Below(1'000'000)),
                      static_cast<double>(random.Below(12)),
                      random.Below(2) == 0});
      tree.SetTarget(1 + static_cast<double>(random.Below(300)) / 10);
      NewTable table;
      table.level = static_cast<int>(random.Below(8));
      table.bottommost = random.Below(2) == 0;
      table.whole_run = random.Below(2) == 0;
      table.keys_read = static_cast<double>(random.Below(1'000'000));
      table.keys_from_above = table.keys_read / 2;
      const double bits = tree.BitsFor(table, Curve()).bits_per_key;
      ASSERT_TRUE(bits >= 0 && bits <= 1000) << bits;
      double keys = 0;
      for (const TreeRun& run : tree.Runs()) keys += run.keys;
      ASSERT_NEAR(keys, tree.keys(), keys * 1e-9 + 1);
    }
  }
}

}  // namespace
}  // namespace deltabloom::internal
