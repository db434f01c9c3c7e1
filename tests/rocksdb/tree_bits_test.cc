// The bits per key of tables in trees of many shapes, which are reported as
// events, without a database.
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

// A leveled tree without a database: flushes, compactions, and a backlog if
// compactions are slower than flushes. It reports its changes to a TreeBits and
// gives its tables the bits per key that TreeBits returns.
struct SimulatedPlan {
  double asked = 10;
  double ratio = 4;
  double flush_keys = 1000;
  double base_keys = 2500;
  double file_keys = 2000;
  double level0_files = 4;  // that start a compaction
  double stop_files = 36;   // of level 0, at which flushes wait
  // Keys that compactions write for each key that is flushed.
  double speed = 100;
  // Number of distinct keys, any of which may be flushed. 0: each key once.
  double universe = 0;
  // Whether the limits of compactions are known.
  bool limits_known = true;
  Layout layout = Layout::kCompact;
};

class SimulatedTree {
 public:
  explicit SimulatedTree(const SimulatedPlan& plan)
      : plan_(plan), curve_(CurveOf(plan.layout).curve) {
    if (!plan.limits_known) return;
    tree_.SetLimits({plan.level0_files, plan.base_keys, plan.ratio, false});
  }

  void Flush() {
    while (levels_[0].size() >= static_cast<size_t>(plan_.stop_files)) {
      if (!CompactOnce()) break;
    }
    const double keys = Distinct({plan_.flush_keys}, 1);
    const Table table = Write(keys, 0, 1, NewTable());
    tree_.Flushed(static_cast<uint64_t>(keys));
    levels_[0].push_back(table);
    tree_.Edit({}, {{table.number, 0, 0}});
    most_ = std::max(most_, tree_.AverageBits());
    credit_ = std::min(credit_ + plan_.speed * plan_.flush_keys, 1e6);
    while (credit_ > 0 && CompactOnce()) {
    }
  }
  // Keys that compactions write from now on for each key that is flushed.
  void SetSpeed(double speed) { plan_.speed = speed; }
  // Compacts until no compaction is due.
  void Settle() {
    while (CompactOnce()) {
    }
  }

  const TreeBits& tree() const { return tree_; }
  // The highest average that there was at any time.
  double MostBits() const { return most_; }
  size_t Level0Files() const { return levels_.at(0).size(); }

  Allocation Ours() const {
    Allocation ours;
    for (const TreeRun& run : tree_.Runs()) {
      ours.rates += curve_.At(run.filter_bits / run.keys).rate;
      ours.bits += run.filter_bits;
      ours.keys += run.keys;
    }
    return ours;
  }
  Allocation Best(double bits_per_key) const {
    return AllocateBits(curve_, SortedRuns(), bits_per_key);
  }
  Allocation Uniform(double bits_per_key) const {
    return UniformBits(curve_, SortedRuns(), bits_per_key);
  }

 private:
  struct Table {
    uint64_t number;
    double begin, end;  // of the key space, which is 0 to 1
    double keys;
  };
  using Tables = std::vector<Table>;

  std::vector<SortedRun> SortedRuns() const {
    std::vector<SortedRun> runs;
    for (const auto& run : tree_.Runs()) runs.push_back({run.keys, 1});
    return runs;
  }

  static double KeysOf(const Tables& tables) {
    double keys = 0;
    for (const Table& table : tables) keys += table.keys;
    return keys;
  }
  static bool Overlap(const Table& a, const Table& b) {
    return a.begin < b.end && b.begin < a.end;
  }

  // Of several draws from the keys of a part of the key space.
  double Distinct(const std::vector<double>& draws, double part) const {
    double sum = 0;
    double missed = 1;
    for (const double keys : draws) {
      sum += keys;
      if (plan_.universe > 0) {
        missed *= 1 - std::min(keys / (plan_.universe * part), 1.0);
      }
    }
    return plan_.universe > 0 ? plan_.universe * part * (1 - missed) : sum;
  }

  Table Write(double keys, double begin, double end, const NewTable& table) {
    tree_.SetTarget(plan_.asked);
    const auto whole = static_cast<uint64_t>(keys);
    TableFacts facts;
    facts.keys = whole;
    facts.filter_bits =
        tree_.BitsFor(table, curve_).bits_per_key * static_cast<double>(whole);
    facts.origin = table.bottommost ? kBottommost : table.level;
    tree_.Learn(++number_, facts);
    return {number_, begin, end, static_cast<double>(whole)};
  }

  bool CompactOnce() {
    int from = -1;
    double worst = 1;
    double limit = plan_.base_keys;
    for (auto& [level, tables] : levels_) {
      double score = static_cast<double>(tables.size()) / plan_.level0_files;
      if (level > 0) {
        score = KeysOf(tables) / limit;
        limit *= plan_.ratio;
      }
      if (score < worst) continue;
      worst = score;
      from = level;
    }
    if (from < 0) return false;
    Compact(from);
    most_ = std::max(most_, tree_.AverageBits());
    return true;
  }

  void Compact(int from) {
    Tables& upper = levels_[from];
    Tables& lower = levels_[from + 1];
    Tables above = upper;
    if (from > 0) above = {upper[cursors_[from]++ % upper.size()]};
    Table range = above[0];
    Tables below;
    for (const Table& table : lower) {
      if (!Overlap(table, range)) continue;
      below.push_back(table);
    }
    std::vector<uint64_t> removed;
    const auto remove = [&removed](const Tables& gone, Tables* tables) {
      for (const Table& table : gone) {
        removed.push_back(table.number);
        const auto is_it = [&table](const Table& one) {
          return one.number == table.number;
        };
        tables->erase(std::find_if(tables->begin(), tables->end(), is_it));
      }
    };
    std::vector<LiveTable> added;
    remove(above, &upper);
    Tables written;
    if (from > 0 && below.empty()) {  // moved
      written = above;
    } else {
      remove(below, &lower);
      for (const Table& table : below) {
        range.begin = std::min(range.begin, table.begin);
        range.end = std::max(range.end, table.end);
      }
      written = Merge(from, above, below, range);
    }
    for (const Table& table : written) {
      lower.push_back(table);
      added.push_back({table.number, from + 1, 0});
    }
    tree_.Edit(removed, added);
  }

  Tables Merge(int from, const Tables& above, const Tables& below,
               const Table& range) {
    std::vector<double> draws;
    if (!below.empty()) draws.push_back(KeysOf(below));
    if (from > 0) draws.push_back(KeysOf(above));
    if (from == 0) {
      for (const Table& table : above) draws.push_back(table.keys);
    }
    const double keys = Distinct(draws, range.end - range.begin);
    NewTable table;
    table.level = from + 1;
    table.bottommost = true;
    for (const auto& [level, tables] : levels_) {
      if (level <= from + 1) continue;
      for (const Table& one : tables) {
        if (Overlap(one, range)) table.bottommost = false;
      }
    }
    table.keys_from_above = KeysOf(above);
    table.keys_read = table.keys_from_above + KeysOf(below);
    const double parts = std::ceil(keys / plan_.file_keys);
    const double width = (range.end - range.begin) / parts;
    Tables written;
    for (double part = 0; part < parts; ++part) {
      const double begin = range.begin + part * width;
      written.push_back(Write(keys / parts, begin, begin + width, table));
    }
    credit_ -= keys;
    return written;
  }

  SimulatedPlan plan_;
  const RateCurve& curve_;
  TreeBits tree_;
  std::map<int, Tables> levels_ = {{0, {}}};
  std::map<int, size_t> cursors_;
  uint64_t number_ = 0;
  double credit_ = 0;
  double most_ = 0;
};

// The average of a tree over 100 flushes: bits per key, and the part of the
// best gain.
struct SteadyState {
  explicit SteadyState(SimulatedTree* tree) {
    for (int i = 0; i < 100; ++i) {
      tree->Flush();
      const Allocation now = tree->Ours();
      bits += now.bits / now.keys / 100;
      gain += tree->Best(now.bits / now.keys).rates / now.rates / 100;
    }
  }
  double bits = 0;
  double gain = 0;
};

TEST(TreeBitsTest, SteadyTreesGetTheGainAtTheBitsOfTheOption) {
  for (const Layout layout :
       {Layout::kCompact, Layout::kLocal, Layout::kAuto, Layout::kClassic}) {
    for (const double ratio : {4.0, 10.0}) {
      for (const double asked : {5.0, 10.0, 16.0}) {
        SimulatedPlan plan;
        plan.layout = layout;
        plan.ratio = ratio;
        plan.asked = asked;
        plan.universe = 60'000;
        SimulatedTree tree(plan);
        for (int i = 0; i < 100; ++i) tree.Flush();
        const SteadyState steady(&tree);
        SCOPED_TRACE(testing::Message() << LayoutName(layout) << " T " << ratio
                                        << ", " << asked << " bits");
        EXPECT_NEAR(steady.bits, asked, asked * 0.05);
        // Few bits leave less to choose.
        EXPECT_GT(steady.gain, asked < 10 ? 0.65 : 0.8);
      }
    }
  }
}

// Flushes that are moved to the last level without being rewritten.
TEST(TreeBitsTest, SequentialLoadGetsTheBitsOfTheOption) {
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

// All keys are there, with the bits of the option, when levels is switched on.
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
  for (const uint64_t last :
       {uint64_t{20'000'000}, uint64_t{30'000}, uint64_t{0}}) {
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
    if (last == 30'000) {
      EXPECT_STREQ(flush.layout->name, "compact");
      EXPECT_GT(flush.millibits_per_key, 11'000u);
    } else if (last > 0) {
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

// A limit smaller than the last level: its keys have nowhere to go.
TEST(TreeBitsTest, NothingOfTheLastLevelWaits) {
  TreeBits tree;
  tree.Learn(1, {1000, 10'000, 0});
  tree.Learn(2, {100'000, 900'000, kBottommost});
  tree.Learn(3, {50'000, 600'000, 5});
  tree.SetTree({{1, 0, 0}, {2, 6, 0}, {3, 5, 0}});
  tree.Edit({3}, {{3, 6, 0}});
  tree.SetTarget(10);
  const double without = tree.BitsFor(NewTable(), Curve()).bits_per_key;
  tree.SetLimits({4, 1, 4, false});
  tree.SetTarget(10);
  EXPECT_EQ(tree.BitsFor(NewTable(), Curve()).bits_per_key, without);
}

// Tables that were written for a level which is now the last: the first one
// that is written as bottommost has none of its kind yet.
TEST(TreeBitsTest, TablesAtTheLevelOfTheirOriginCountWithIt) {
  TreeBits tree;
  tree.Learn(1, {1000, 10'000, 0});
  tree.Learn(2, {100'000, 1'000'000, 5});
  tree.SetTree({{1, 0, 0}, {2, 5, 0}});
  tree.SetTarget(10);
  NewTable table;
  table.level = 5;
  table.bottommost = true;
  EXPECT_EQ(tree.BitsFor(table, Curve()).bits_per_key, 10);
}

// Universal compaction: the largest run gets about the target, smaller ones
// more, as far as the average stays within 5 %, and none less than 5 % below.
TEST(TreeBitsTest, WholeRunsHaveNoDebts) {
  TreeBits tree;
  tree.SetTarget(10);
  tree.Flushed(1000);
  NewTable table;
  table.whole_run = true;
  EXPECT_EQ(tree.BitsFor(table, Curve()).bits_per_key, 9.9);
  // As all input of the merge does not count, that of others does.
  tree.Learn(1, {100'000, 1'000'000, kBottommost});
  tree.Learn(2, {50'000, 1'000'000, 5});
  tree.SetTree({{1, 6, 0}, {2, 5, 0}});
  EXPECT_EQ(tree.BitsFor(table, Curve()).bits_per_key, 10);
  const std::vector<uint64_t> upper = {2};
  table.level = 5;
  table.keys_read = 50'000;
  table.inputs = &upper;
  const double bits = tree.BitsFor(table, Curve()).bits_per_key;
  EXPECT_GT(bits, 10.3);
  EXPECT_LE(100'000 * 10 + 50'000 * bits, 150'000 * 10.45 + 1);
  // Smaller ones get more, but what is larger than all others.
  table.keys_read = 5'000;
  EXPECT_GT(tree.BitsFor(table, Curve()).bits_per_key, bits + 1);
  table.keys_read = 150'000;
  EXPECT_EQ(tree.BitsFor(table, Curve()).bits_per_key, 9.9);
  // A compaction without events.
  table.keys_read = 0;
  table.inputs = nullptr;
  EXPECT_EQ(tree.BitsFor(table, Curve()).bits_per_key, 10);
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

// Writes that outrun compactions, which then catch up: what upper levels held
// meanwhile has taken nothing from the last, and never were more bytes spent
// than may be.
//
// Of the gains afterwards one case may be low: that of a level which has just
// begun, whose tables were written as the last run and moved there, has 0.79.
TEST(TreeBitsBurstTest, ABurstKeepsTheBitsOfTheOptionAndIsNotWorseThanUniform) {
  double gains = 0;
  for (const double ratio : {4.0, 10.0}) {
    for (const double universe : {0.0, 60'000.0}) {
      for (const double speed : {1.0, 2.0, 4.0}) {
        SimulatedPlan plan;
        plan.ratio = ratio;
        plan.universe = universe;
        plan.speed = speed;
        SimulatedTree tree(plan);
        size_t files = 0;
        for (int i = 0; i < 150; ++i) {
          tree.Flush();
          files = std::max(files, tree.Level0Files());
        }
        tree.Settle();
        SCOPED_TRACE(testing::Message()
                     << "T " << ratio << ", " << universe << " keys, speed "
                     << speed << ", " << files << " files in level 0");
        EXPECT_GE(files, 8u);
        const Allocation ours = tree.Ours();
        EXPECT_NEAR(ours.bits / ours.keys, 10, 0.5);
        EXPECT_LE(tree.MostBits(), 10.5);
        EXPECT_LE(ours.rates, tree.Uniform(10).rates);

        // Once compactions keep up, the gain of a steady tree.
        tree.SetSpeed(100);
        for (int i = 0; i < 100; ++i) tree.Flush();
        const SteadyState steady(&tree);
        EXPECT_NEAR(steady.bits, 10, 0.3);
        EXPECT_GT(steady.gain, 0.75);
        gains += steady.gain / 12;
      }
    }
  }
  EXPECT_GT(gains, 0.88);
}

// The same where nothing is known of what compactions aim at: what the limits
// are worth, and that the simulation shows it.
TEST(TreeBitsBurstTest, WithoutLimitsABurstTakesFromTheLastLevel) {
  double rates[2] = {0, 0};
  double bits[2] = {0, 0};
  for (const bool known : {false, true}) {
    SimulatedPlan plan;
    plan.universe = 60'000;
    plan.speed = 2;
    plan.limits_known = known;
    SimulatedTree tree(plan);
    for (int i = 0; i < 137; ++i) tree.Flush();
    tree.Settle();
    rates[known] = tree.Ours().rates / tree.Uniform(10).rates;
    bits[known] = tree.Ours().bits / tree.Ours().keys;
  }
  EXPECT_GT(rates[0], 1.2);
  EXPECT_LT(rates[1], 1);
  EXPECT_LT(bits[0], bits[1] - 0.2);
}

}  // namespace
}  // namespace deltabloom::internal
