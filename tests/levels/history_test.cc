#include "db_bench_ext/levels/history.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "db_bench_ext/common/program.h"
#include "db_bench_ext/levels/database.h"

namespace deltabloom::levels {
namespace {

struct Counts {
  uint64_t fresh = 0, old = 0, removed = 0;
};

// Follows a history by the rules of a map.
Counts Follow(Growth growth, uint64_t writes) {
  History history(growth, writes, 7);
  std::set<uint64_t> seen, present;
  Counts counts;
  for (uint64_t i = 0; i < writes; ++i) {
    const History::Write write = history.Next();
    const bool fresh = seen.insert(write.key).second;
    EXPECT_FALSE(fresh && write.remove) << "a deletion of no key";
    ++(write.remove ? counts.removed : fresh ? counts.fresh : counts.old);
    if (write.remove) {
      present.erase(write.key);
    } else {
      present.insert(write.key);
    }
  }
  EXPECT_EQ(history.Present(),
            std::vector<uint64_t>(present.begin(), present.end()));
  return counts;
}

TEST(History, HasItsSharesOfWrites) {
  constexpr uint64_t kWrites = 30'000;
  constexpr double kError = 500;  // six standard deviations
  const Counts insert = Follow(Growth::kInsert, kWrites);
  EXPECT_EQ(insert.fresh, kWrites);
  const Counts overwrite = Follow(Growth::kOverwrite, kWrites);
  EXPECT_EQ(overwrite.fresh, kWrites / 2);
  EXPECT_EQ(overwrite.old, kWrites / 2);
  const Counts removal = Follow(Growth::kDelete, kWrites);
  EXPECT_EQ(removal.old, 0u);
  EXPECT_NEAR(static_cast<double>(removal.removed), kWrites / 3.0, kError);
  const Counts mixed = Follow(Growth::kMixed, kWrites);
  EXPECT_NEAR(static_cast<double>(mixed.fresh), kWrites * 0.5, kError);
  EXPECT_NEAR(static_cast<double>(mixed.old), kWrites * 0.3, kError);
  EXPECT_NEAR(static_cast<double>(mixed.removed), kWrites * 0.2, kError);
}

TEST(History, GrowthsAreKnownByName) {
  for (const Growth growth :
       {Growth::kSettled, Growth::kInsert, Growth::kOverwrite, Growth::kDelete,
        Growth::kMixed}) {
    Growth parsed{};
    EXPECT_TRUE(ParseGrowth(GrowthName(growth), &parsed));
    EXPECT_EQ(parsed, growth);
  }
  Growth unchanged = Growth::kMixed;
  EXPECT_FALSE(ParseGrowth("Settled", &unchanged));
  EXPECT_EQ(unchanged, Growth::kMixed);
}

TEST(SettledRuns, EachHoldsItsShareExactly) {
  TreePlan plan;
  plan.keys = 2'222'200;
  EXPECT_EQ(SettledRuns(plan),
            (std::vector<uint64_t>{200, 2000, 20'000, 200'000, 2'000'000}));
  plan.size_ratio = 4;
  plan.runs = 3;
  plan.keys = 2100;
  EXPECT_EQ(SettledRuns(plan), (std::vector<uint64_t>{100, 400, 1600}));
}

TEST(SettledRuns, RefusesTooFewKeys) {
  TreePlan plan;
  plan.keys = 22'221;
  EXPECT_THROW(SettledRuns(plan), bench::UsageError);
  plan.keys = 22'222;
  EXPECT_EQ(SettledRuns(plan)[0], 2u);
}

}  // namespace
}  // namespace deltabloom::levels
