#include "db_bench_ext/levels/allocation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tests/random.h"

namespace deltabloom::levels {
namespace {

// rate = e^(-slope * bits).
std::vector<CurvePoint> Ideal(double slope) {
  std::vector<CurvePoint> curve;
  for (double bits = 0; bits <= 60; bits += 0.5) {
    curve.push_back({bits, std::exp(-slope * bits)});
  }
  return curve;
}

double Bits(const std::vector<AllocationRun>& runs,
            const std::vector<double>& bits_per_key) {
  double sum = 0;
  for (size_t i = 0; i < runs.size(); ++i)
    sum += runs[i].keys * bits_per_key[i];
  return sum;
}

double Rates(const std::vector<AllocationRun>& runs,
             const std::vector<double>& bits_per_key) {
  double sum = 0;
  for (size_t i = 0; i < runs.size(); ++i) {
    sum += runs[i].share * RateAt(*runs[i].curve, bits_per_key[i]);
  }
  return sum;
}

TEST(RateAt, IsLogarithmicBetweenPoints) {
  const std::vector<CurvePoint> curve = {{0, 1}, {4, 0.16}, {8, 0.04}};
  EXPECT_DOUBLE_EQ(RateAt(curve, 0), 1);
  EXPECT_DOUBLE_EQ(RateAt(curve, 2), 0.4);
  EXPECT_DOUBLE_EQ(RateAt(curve, 4), 0.16);
  EXPECT_DOUBLE_EQ(RateAt(curve, 6), 0.08);
  EXPECT_DOUBLE_EQ(RateAt(curve, 100), 0.04);
}

TEST(BestBitsPerKey, OneRunGetsEverything) {
  const auto curve = Ideal(0.48);
  EXPECT_NEAR(BestBitsPerKey({{1000, 1, &curve}}, 12345)[0], 12.345, 1e-9);
}

// Monkey: the rate of each run in proportion to its keys.
TEST(BestBitsPerKey, MakesRatesProportionalToKeys) {
  const double slope = std::log(2.0) * std::log(2.0);
  const auto curve = Ideal(slope);
  const std::vector<AllocationRun> runs = {
      {1e3, 1, &curve}, {1e4, 1, &curve}, {1e5, 1, &curve}, {1e6, 1, &curve}};
  const std::vector<double> bits = BestBitsPerKey(runs, 10 * 1.111e6);
  EXPECT_NEAR(Bits(runs, bits), 10 * 1.111e6, 1);
  for (size_t i = 1; i < runs.size(); ++i) {
    EXPECT_NEAR(bits[i - 1] - bits[i], std::log(10) / slope, 0.11);
  }
  // The best that there is at this size: uniform bits leave 2.8 times as much.
  const std::vector<double> uniform(runs.size(), 10);
  EXPECT_NEAR(Rates(runs, uniform) / Rates(runs, bits), 2.8, 0.1);
}

TEST(BestBitsPerKey, ARunThatFewLookupsAskGetsLess) {
  const auto curve = Ideal(0.48);
  const auto bits =
      BestBitsPerKey({{1e5, 1, &curve}, {1e5, 0.1, &curve}}, 20e5);
  EXPECT_NEAR(bits[0] - bits[1], std::log(10) / 0.48, 0.11);
}

TEST(BestBitsPerKey, WhereBitsAreFewTheLargestRunGetsNone) {
  const auto curve = Ideal(0.48);
  const auto bits = BestBitsPerKey({{1e3, 1, &curve}, {1e6, 1, &curve}}, 8e3);
  EXPECT_NEAR(bits[0], 8, 1e-9);
  EXPECT_EQ(bits[1], 0);
}

TEST(BestBitsPerKey, NoExchangeOfBitsImprovesIt) {
  const uint64_t seed = test::SeedOfThisRun();
  SCOPED_TRACE("DELTABLOOM_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int round = 0; round < 20; ++round) {
    const auto bloom = Ideal(0.44 + 0.05 * unit(random));
    const auto ribbon = Ideal(0.65 + 0.05 * unit(random));
    std::vector<AllocationRun> runs;
    for (int i = 0; i < 5; ++i) {
      runs.push_back({std::pow(10, 2 + 4 * unit(random)), unit(random),
                      unit(random) < 0.5 ? &bloom : &ribbon});
    }
    double keys = 0;
    for (const AllocationRun& run : runs) keys += run.keys;
    const std::vector<double> best = BestBitsPerKey(runs, 9 * keys);
    ASSERT_NEAR(Bits(runs, best), 9 * keys, 1e-6 * keys);
    for (int i = 0; i < 200; ++i) {
      std::vector<double> other = best;
      const size_t from = random() % runs.size(), to = random() % runs.size();
      const double moved = unit(random) * other[from] * runs[from].keys;
      other[from] -= moved / runs[from].keys;
      other[to] += moved / runs[to].keys;
      // The line between two points lies above a curve by a hundredth at most.
      ASSERT_GE(Rates(runs, other), Rates(runs, best) * 0.99);
    }
  }
}

}  // namespace
}  // namespace deltabloom::levels
