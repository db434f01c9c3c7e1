// The allocation of bits to runs against brute force, and on inputs that make
// no sense.
#include "util/rates/allocation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <vector>

#include "tests/random.h"

namespace deltabloom::internal {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Results differ by less than this, or by less than this part, through the
// rounding of numbers of type double.
constexpr double kRounding = 1e-9;

// The rates of an ideal filter and of a Bloom filter.
double Ideal(double bits) { return std::exp2(-bits); }
double Bloom(double bits) { return std::pow(0.6185, bits); }
// Whole probes, LevelDB's rounding: steps and dents.
double Stepped(double bits) {
  const double k = std::clamp(std::floor(bits * 0.69), 1.0, 30.0);
  return std::pow(1 - std::exp(-k / bits), k);
}
// A hash of 32 bits over ten million keys: more bits soon gain nothing.
double Floored(double bits) { return Bloom(bits) + 0.0023; }

RateCurve CurveOf(double (*rate)(double)) { return RateCurve({{rate}}); }

std::vector<SortedRun> Runs(const std::vector<double>& keys) {
  std::vector<SortedRun> runs;
  for (const double n : keys) runs.push_back({n, 1});
  return runs;
}

std::vector<SortedRun> Geometric(int levels, double ratio, double last = 1e8) {
  std::vector<SortedRun> runs(static_cast<size_t>(levels));
  for (size_t i = runs.size(); i-- > 0; last /= ratio) runs[i].keys = last;
  return runs;
}

// The least sum of rates over all ways to spend the budget in steps.
double BruteForce(const RateCurve& curve, const std::vector<SortedRun>& runs,
                  size_t run, double budget, double step) {
  if (run == runs.size()) return 0;
  const double keys = runs[run].keys;
  double best = kInfinity;
  double rate = 1;
  for (double bits = 0; bits * keys <= budget * (1 + kRounding) && bits <= 24;
       bits += step) {
    rate = std::min(rate, curve.At(bits).rate);
    if (run + 1 == runs.size()) continue;
    best = std::min(
        best, runs[run].weight * rate +
                  BruteForce(curve, runs, run + 1, budget - bits * keys, step));
  }
  return run + 1 == runs.size() ? runs[run].weight * rate : best;
}

void ExpectSane(const RateCurve& curve, const std::vector<SortedRun>& runs,
                double bits_per_key, const Allocation& allocation) {
  ASSERT_EQ(allocation.runs.size(), runs.size());
  double bits = 0;
  double rates = 0;
  double keys = 0;
  for (size_t i = 0; i < runs.size(); ++i) {
    const RunBits& run = allocation.runs[i];
    ASSERT_TRUE(run.bits_per_key == 0 ||
                (run.bits_per_key >= 0.5 && run.bits_per_key <= 1000))
        << run.bits_per_key;
    ASSERT_GE(run.rate, 0);
    ASSERT_LE(run.rate, 1);
    if (!(runs[i].keys > 0) || !(runs[i].weight > 0)) {
      EXPECT_EQ(run.bits_per_key, 0);
      continue;
    }
    EXPECT_EQ(run.rate, curve.At(run.bits_per_key).rate);
    bits += run.bits_per_key * runs[i].keys;
    rates += run.rate * runs[i].weight;
    keys += runs[i].keys;
  }
  EXPECT_NEAR(allocation.bits, bits, bits * kRounding);
  EXPECT_NEAR(allocation.rates, rates, rates * kRounding + 1e-300);
  EXPECT_LE(bits, std::max(bits_per_key, 0.0) * keys * (1 + kRounding));
}

TEST(AllocationTest, IdealFiltersHaveTheKnownAnswer) {
  // Rates in proportion to keys: log2(T) more bits for each run above.
  const RateCurve curve = CurveOf(Ideal);
  for (const double ratio : {2.0, 4.0, 10.0}) {
    const Allocation allocation = AllocateBits(curve, Geometric(4, ratio), 10);
    for (size_t i = 1; i < 4; ++i) {
      EXPECT_NEAR(
          allocation.runs[i - 1].bits_per_key - allocation.runs[i].bits_per_key,
          std::log2(ratio), 0.13);
    }
    EXPECT_NEAR(allocation.bits / allocation.keys, 10, 0.001);
  }
  // Uniform bits have the rate 2^-10 in each level. In the best allocation the
  // last level has 10 - d bits per key, d being the mean over all keys of the
  // bits that levels have more than the last one. Its rate is 2^(d - 10), and
  // all levels together have that rate divided by its share of the keys.
  struct Case {
    int levels;
    double ratio, gain;
  };
  for (const auto& [levels, ratio, gain] : std::initializer_list<Case>{
           {5, 10, 3.48}, {4, 10, 2.79}, {5, 4, 2.38}}) {
    const auto runs = Geometric(levels, ratio);
    EXPECT_NEAR(UniformBits(curve, runs, 10).rates /
                    AllocateBits(curve, runs, 10).rates,
                gain, 0.05)
        << levels << " " << ratio;
  }
}

// Runs of 1 to 2^(most_eighths / 8) keys each, in ascending order.
std::vector<SortedRun> RandomRuns(size_t n, uint64_t most_eighths,
                                  test::Random* random) {
  std::vector<double> keys(n);
  for (double& of : keys) {
    of = std::exp2(static_cast<double>(random->Below(most_eighths)) / 8);
  }
  std::sort(keys.begin(), keys.end());
  return Runs(keys);
}

// If the curve has steps and dents, the allocation is as good as the hull,
// except for the run at whose step the budget ends: a bit of its keys may be
// left over.
TEST(AllocationTest, BruteForceFindsNothingBetter) {
  test::FreshRandom random;
  for (int round = 0; round < 50; ++round) {
    const bool stepped = round >= 30;
    const RateCurve curve = CurveOf(stepped          ? Stepped
                                    : round % 3 == 0 ? Ideal
                                    : round % 3 == 1 ? Bloom
                                                     : Floored);
    auto runs = RandomRuns(stepped || round % 2 != 0 ? 3 : 2, stepped ? 48 : 80,
                           &random);
    for (SortedRun& run : runs) {
      if (!stepped) run.weight = 1.0 / static_cast<double>(1 + random.Below(3));
    }
    // A run may not be at the step from no filter to one.
    const double budget =
        (stepped ? 3 : 4) + static_cast<double>(random.Below(72)) / 8;
    const Allocation allocation = AllocateBits(curve, runs, budget);
    ExpectSane(curve, runs, budget, allocation);
    const double left_over = stepped ? runs.back().keys : 0;
    EXPECT_LE(allocation.rates,
              1.02 * BruteForce(curve, runs, 0,
                                budget * allocation.keys - left_over, 0.25));
  }
}

TEST(AllocationTest, EveryShapeIsSaneAndMonotone) {
  test::FreshRandom random;
  for (int round = 0; round < 60; ++round) {
    const RateCurve curve = CurveOf(round % 3 == 0   ? Stepped
                                    : round % 3 == 1 ? Ideal
                                                     : Floored);
    const auto runs = RandomRuns(1 + random.Below(12), 300, &random);
    std::vector<double> before(runs.size());
    for (const double budget :
         {0.1, 0.4, 0.5, 0.9, 1.7, 2.0, 5.0, 10.0, 10.01, 16.0, 40.0, 999.0}) {
      const Allocation allocation = AllocateBits(curve, runs, budget);
      ExpectSane(curve, runs, budget, allocation);
      double smaller = kInfinity;
      for (size_t i = 0; i < runs.size(); ++i) {
        const double bits = allocation.runs[i].bits_per_key;
        EXPECT_LE(bits, smaller + kRounding);
        EXPECT_GE(bits, before[i] - kRounding) << budget;
        smaller = before[i] = bits;
      }
    }
  }
}

TEST(AllocationTest, EqualRunsGetTheBudget) {
  const std::vector<SortedRun> many(5000, SortedRun{1000, 1});
  for (double (*rate)(double) : {Ideal, Bloom, Stepped}) {
    const RateCurve curve = CurveOf(rate);
    for (const double budget : {0.5, 1.0, 2.25, 9.9, 10.0, 24.0, 500.0}) {
      EXPECT_NEAR(AllocateBits(curve, Runs({1e6}), budget).runs[0].bits_per_key,
                  budget, budget * 1e-3);
    }
    const Allocation allocation = AllocateBits(curve, many, 9.7);
    ExpectSane(curve, many, 9.7, allocation);
    for (const RunBits& run : allocation.runs) {
      EXPECT_NEAR(run.bits_per_key, 9.7, 0.01);
    }
  }
  const RateCurve ideal = CurveOf(Ideal);
  EXPECT_EQ(AllocateBits(ideal, Runs({1e6}), 0.4).runs[0].bits_per_key, 0);
  EXPECT_EQ(AllocateBits(ideal, Runs({1e6}), 2000).runs[0].bits_per_key, 1000);
}

// There are so few bits that the last run is better off without a filter.
TEST(AllocationTest, ARunMayGetNone) {
  const Allocation allocation =
      AllocateBits(CurveOf(Bloom), Geometric(4, 10), 0.6);
  EXPECT_EQ(allocation.runs[3].bits_per_key, 0);
  EXPECT_GT(allocation.runs[0].bits_per_key, 8);
  EXPECT_LT(allocation.rates, 1.2);
}

TEST(AllocationTest, OptionsTakeOverWhereTheyAreAllowed) {
  // The better one up to 15 bits only.
  const RateCurve curve({{Ideal, 0, 15}, {Bloom, 0, 1000}});
  EXPECT_EQ(curve.At(10).option, 0u);
  EXPECT_EQ(curve.At(15).option, 0u);
  EXPECT_EQ(curve.At(15.01).option, 1u);
  EXPECT_EQ(curve.At(15.01).rate, Bloom(15.01));
  const std::vector<SortedRun> runs = Geometric(6, 10);
  const Allocation allocation = AllocateBits(curve, runs, 10);
  ExpectSane(curve, runs, 10, allocation);
  EXPECT_EQ(allocation.runs[0].option, 1u);
  EXPECT_GT(allocation.runs[0].bits_per_key, 15);
  EXPECT_EQ(allocation.runs[5].option, 0u);
  // No option for this many bits: no filter.
  EXPECT_EQ(RateCurve({{Ideal, 0, 15}}).At(16).bits_per_key, 0);
  EXPECT_EQ(RateCurve({}).At(10).bits_per_key, 0);
  EXPECT_EQ(AllocateBits(RateCurve({}), Runs({1, 2}), 10).rates, 2);
}

TEST(AllocationTest, WeightsAreSharesOfLookups) {
  const RateCurve curve = CurveOf(Ideal);
  // A run that a hundredth of the lookups ask is worth log2(100) bits less.
  const Allocation allocation =
      AllocateBits(curve, {{1e6, 1}, {1e6, 0.01}}, 10);
  EXPECT_NEAR(allocation.runs[0].bits_per_key - allocation.runs[1].bits_per_key,
              std::log2(100), 0.15);
  // Five runs as one entry.
  const Allocation together = AllocateBits(curve, {{5e4, 5}, {1e6, 1}}, 10);
  const Allocation apart =
      AllocateBits(curve, Runs({1e4, 1e4, 1e4, 1e4, 1e4, 1e6}), 10);
  EXPECT_NEAR(together.rates, apart.rates, apart.rates * 1e-6);
  EXPECT_NEAR(together.runs[0].bits_per_key, apart.runs[0].bits_per_key, 1e-6);
}

TEST(AllocationTest, AllocateForRatesIsTheInverse) {
  for (double (*rate)(double) : {Ideal, Bloom, Stepped}) {
    const RateCurve curve = CurveOf(rate);
    const std::vector<SortedRun> runs = Geometric(5, 10);
    for (const double rates : {0.5, 0.05, 0.001, 0.00001}) {
      const Allocation allocation = AllocateForRates(curve, runs, rates);
      EXPECT_LE(allocation.rates, rates);
      // A little less does not do.
      EXPECT_GT(
          AllocateBits(curve, runs, allocation.bits / allocation.keys - 0.2)
              .rates,
          rates);
    }
    EXPECT_EQ(AllocateForRates(curve, runs, 5).bits, 0);
    EXPECT_EQ(AllocateForRates(curve, runs, kNaN).bits, 0);
    EXPECT_EQ(AllocateForRates(curve, {}, 0.1).bits, 0);
  }
  // Out of reach: all that gains anything.
  const RateCurve curve = CurveOf(Floored);
  const Allocation most = AllocateForRates(curve, Geometric(5, 10), 0.0001);
  EXPECT_GT(most.rates, 0.0001);
  EXPECT_NEAR(most.runs[4].bits_per_key, curve.MostUsefulBits(), kRounding);
}

TEST(AllocationTest, SenselessInputHasAnAnswer) {
  const RateCurve curve = CurveOf(Ideal);
  for (const double budget : {0.0, -1.0, kNaN, -kInfinity, 1e300, kInfinity}) {
    for (const std::vector<SortedRun>& runs :
         {std::vector<SortedRun>(), Runs({0}), Runs({kNaN, -1, 0, kInfinity}),
          Runs({kNaN, 1e6, 0}), Runs({1, 1e-300, 1e300}),
          std::vector<SortedRun>{{1e6, 0}, {1e6, kNaN}, {1e6, -1}, {1e6, 1}}}) {
      const Allocation allocation = AllocateBits(curve, runs, budget);
      ASSERT_EQ(allocation.runs.size(), runs.size());
      for (const RunBits& run : allocation.runs) {
        EXPECT_TRUE(run.bits_per_key >= 0 && run.bits_per_key <= 1000);
        EXPECT_TRUE(budget > 0 || run.bits_per_key == 0);
      }
      EXPECT_FALSE(std::isnan(PriceOfBits(curve, runs, budget)));
    }
  }
  EXPECT_EQ(AllocateBits(curve, Runs({kNaN, 1e6, 0}), 10).runs[1].bits_per_key,
            10);
  // Functions that are none.
  for (double (*rate)(double) :
       {+[](double) { return kNaN; }, +[](double) { return 7.0; },
        +[](double) { return kInfinity; }, +[](double) { return 1.0; }}) {
    const Allocation none = AllocateBits(CurveOf(rate), Geometric(3, 10), 10);
    EXPECT_EQ(none.bits, 0);
    EXPECT_EQ(none.rates, 3);
  }
  const Allocation free =
      AllocateBits(CurveOf([](double) { return -1.0; }), Geometric(3, 10), 10);
  EXPECT_EQ(free.rates, 0);
}

// Whole columns and a mixture between: straight lines from bit to bit.
double Columns(double bits) {
  const double whole = std::floor(bits);
  return std::exp2(-whole) * (1 - (bits - whole) / 2);
}

TEST(AllocationTest, PricesSpendTheBudgetWithoutSteps) {
  const RateCurve curve = CurveOf(Columns);
  const std::vector<SortedRun> runs = Geometric(4, 7);
  for (double budget = 3; budget < 20; budget += 0.3) {
    const double price = PriceOfBits(curve, runs, budget);
    double bits = 0, keys = 0, rates = 0;
    for (const SortedRun& run : runs) {
      const double one = BitsAtPrice(curve, run, price);
      bits += run.keys * one;
      keys += run.keys;
      rates += curve.At(one).rate;
    }
    EXPECT_NEAR(bits / keys, budget, 0.01);
    EXPECT_LT(rates, AllocateBits(curve, runs, budget).rates * 1.04) << budget;
  }
}

TEST(AllocationTest, RunsMayHaveCurvesOfTheirOwn) {
  const RateCurve common = CurveOf(Ideal);
  const RateCurve own = CurveOf(Bloom);
  std::vector<SortedRun> runs = Geometric(4, 10);
  const Allocation plain = AllocateBits(common, runs, 10);
  for (SortedRun& run : runs) run.curve = &common;
  const Allocation same = AllocateBits(own, runs, 10);
  for (size_t i = 0; i < runs.size(); ++i) {
    EXPECT_EQ(same.runs[i].bits_per_key, plain.runs[i].bits_per_key);
  }
  // One more bit for one key saves as much in each run.
  runs[0].curve = &own;
  const Allocation mixed = AllocateBits(common, runs, 10);
  EXPECT_NEAR(mixed.bits / mixed.keys, 10, 1e-6);
  EXPECT_EQ(mixed.runs[0].rate, Bloom(mixed.runs[0].bits_per_key));
  const double saved = mixed.runs[0].rate * -std::log(0.6185) / runs[0].keys;
  for (size_t i = 1; i < runs.size(); ++i) {
    EXPECT_NEAR(mixed.runs[i].rate * std::log(2) / runs[i].keys / saved, 1,
                0.1);
  }
}

// The least bits of a run are taken from the budget, and exceed it if they
// must.
TEST(AllocationTest, RunsKeepTheirLeastBits) {
  const RateCurve curve = CurveOf(Ideal);
  const std::vector<SortedRun> runs = {{1e5, 1}, {1e6, 1e-5, nullptr, 4}};
  const Allocation both = AllocateBits(curve, runs, 5);
  EXPECT_EQ(both.runs[1].bits_per_key, 4);
  EXPECT_NEAR(both.runs[0].bits_per_key, 15, 1e-6);
  const Allocation too_few = AllocateBits(curve, runs, 2);
  EXPECT_EQ(too_few.runs[1].bits_per_key, 4);
  EXPECT_EQ(too_few.runs[0].bits_per_key, 0);
  EXPECT_EQ(BitsAtPrice(curve, runs[1], 1e300), 4);
  EXPECT_EQ(BitsAtPrice(curve, runs[0], kNaN), 0);
  EXPECT_EQ(BitsAtPrice(curve, runs[0], kInfinity), 0);
}

}  // namespace
}  // namespace deltabloom::internal
