// Bursts of writes that outrun compactions, in simulated trees.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/rocksdb/simulated_tree.h"

namespace deltabloom::testing {
namespace {

// Writes that outrun compactions, which then catch up: what upper levels held
// meanwhile has taken nothing from the last, and never were more bytes spent
// than may be.
//
// Of the gains afterwards one case may be low: that of a level which has just
// begun, whose tables were written as the last run and moved there, has 0.79.
TEST(TreeBitsBurstTest, ABurstLeavesWhatWasAskedAndIsNotWorseThanUniform) {
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
        SCOPED_TRACE(::testing::Message()
                     << "T " << ratio << ", " << universe << " keys, speed "
                     << speed << ", " << files << " files in level 0");
        EXPECT_GE(files, 8u);
        const internal::Allocation ours = tree.Ours();
        EXPECT_NEAR(ours.bits / ours.keys, 10, 0.5);
        EXPECT_LE(tree.MostBits(), 10.5);
        EXPECT_LE(ours.rates, tree.Uniform(10).rates);

        // Once compactions keep up, the gain of a steady tree.
        double bits = 0;
        double gain = 0;
        for (int i = 0; i < 200; ++i) {
          tree.SetSpeed(100);
          tree.Flush();
          if (i < 100) continue;
          const internal::Allocation now = tree.Ours();
          bits += now.bits / now.keys / 100;
          gain += tree.Best(now.bits / now.keys).rates / now.rates / 100;
        }
        EXPECT_NEAR(bits, 10, 0.3);
        EXPECT_GT(gain, 0.75);
        gains += gain / 12;
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
}  // namespace deltabloom::testing
