// What the concurrent filter says of its rate and its keys, held against what
// is measured. With DELTABLOOM_LONG_TESTS set, up to 10^8 keys.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <vector>

#include "deltabloom/concurrent_filter.h"
#include "util/coding.h"
#include "util/layouts/local/local.h"

namespace deltabloom {
namespace {

ConcurrentFilterOptions Options(uint64_t keys, double rate) {
  ConcurrentFilterOptions options;
  options.expected_keys = keys;
  options.false_positive_rate = rate;
  return options;
}

// Keys of 8 bytes, in counting order: what weak hashes like least.
class Key {
 public:
  explicit Key(uint64_t i) { internal::StoreFixed64(bytes_, i); }
  operator std::string_view() const { return {bytes_, sizeof(bytes_)}; }

 private:
  char bytes_[8];
};

struct Measured {
  double asked;
  double found;
};

Measured Ask(const ConcurrentFilter& filter, uint64_t from, uint64_t count) {
  uint64_t found = 0;
  for (uint64_t i = 0; i < count; ++i) found += filter.MayMatch(Key(from + i));
  return {static_cast<double>(count), static_cast<double>(found)};
}

// Within 5 standard deviations of the binomial distribution, and of what
// `error` of the rate itself adds.
void ExpectRate(const Measured& measured, double rate, double error) {
  const double expected = measured.asked * rate;
  const double deviation =
      std::sqrt(expected * (1 - rate) + std::pow(expected * error, 2));
  EXPECT_NEAR(measured.found, expected, 5 * deviation + 1)
      << measured.found / measured.asked << " measured, " << rate;
}

// A filter of few blocks is a draw of its own. The spread of its rate, as a
// share, from how its keys fall on blocks: with L keys in a block, the rate of
// a block goes like (1 - e^(-k L / 512))^k, and L spreads by its square root.
// That makes 0.6 / sqrt(blocks) with 6 probes at 1 %, 1.5 with 16 at .005 %.
double SpreadOfRate(const ConcurrentFilter& filter) {
  const double blocks = static_cast<double>(filter.Size().bits) / 512;
  return 0.15 * filter.Size().probes / std::sqrt(blocks);
}

struct Case {
  uint64_t keys;
  double rate;
  uint64_t asked;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const uint64_t keys : {1000u, 3000u, 10000u, 100000u, 1000000u}) {
    for (const double rate : {0.3, 0.03, 0.01, 0.001, 0.00005}) {
      cases.push_back({keys, rate, rate < 0.001 ? 4000000u : 1000000u});
    }
  }
#if !defined(__SANITIZE_ADDRESS__)  // it makes this one slow
  cases.push_back({10000000, 0.01, 2000000});
#endif
  if (std::getenv("DELTABLOOM_LONG_TESTS") != nullptr) {
    cases.push_back({10000000, 0.0001, 100000000});
    cases.push_back({100000000, 0.01, 100000000});
    cases.push_back({100000000, 0.001, 100000000});
  }
  return cases;
}

TEST(ConcurrentRate, ReportedIsMeasured) {
  for (const Case& at : Cases()) {
    SCOPED_TRACE(std::to_string(at.keys) + " keys at " +
                 std::to_string(at.rate));
    ConcurrentFilter filter(Options(at.keys, at.rate));
    for (uint64_t i = 0; i < at.keys; ++i) filter.Add(Key(i));
    const Measured measured = Ask(filter, uint64_t{1} << 40, at.asked);
    const double reported = filter.FalsePositiveRate();
    ExpectRate(measured, reported, SpreadOfRate(filter));
    // The size was right: no key too many, no block too many.
    const double planned = internal::local::RateOfProbes(
        filter.Size().probes <= 8
            ? internal::local::Probes{filter.Size().probes, 0}
            : internal::local::Probes{8, 8})(at.keys, filter.Size().bits / 512);
    EXPECT_LE(planned, at.rate);
    ExpectRate(measured, planned, SpreadOfRate(filter));
    EXPECT_EQ(filter.KeysAdded(), at.keys);
    if (std::getenv("DELTABLOOM_LONG_TESTS") != nullptr) {
      std::printf("%llu keys, %g asked: reported %.6g, measured %.6g\n",
                  static_cast<unsigned long long>(at.keys), at.rate, reported,
                  measured.found / measured.asked);
    }
  }
}

// Half filled and twice filled, too.
TEST(ConcurrentRate, ReportedIsMeasuredAtAnyLoad) {
  ConcurrentFilter filter(Options(200000, 0.01));
  uint64_t added = 0;
  for (const uint64_t until : {50000u, 100000u, 200000u, 400000u, 800000u}) {
    SCOPED_TRACE(until);
    for (; added < until; ++added) filter.Add(Key(added));
    ExpectRate(Ask(filter, uint64_t{1} << 40, 1000000),
               filter.FalsePositiveRate(), SpreadOfRate(filter));
  }
}

// The rate in theory against a small case done by hand: one block, one probe,
// two keys. The probe of an absent key meets a bit if one of the two keys has
// its sector (1 of 8) and its bit (1 of 64).
TEST(ConcurrentRate, TheoryByHand) {
  const double both_miss = std::pow(1 - 1.0 / 512, 2);
  EXPECT_NEAR(internal::local::RateOfProbes({1, 0})(2, 1), 1 - both_miss,
              1e-10);
  // 8 probes take every sector: 8 independent bits of 64.
  const double taken = 1 - std::pow(63.0 / 64, 5);
  EXPECT_NEAR(internal::local::RateOfProbes({8, 0})(5, 1), std::pow(taken, 8),
              1e-9);
  EXPECT_EQ(internal::local::RateOfProbes({6, 0})(0, 10), 0);
}

// Over many sizes and rates, filled to capacity.
TEST(ConcurrentRate, EstimateOfKeysIsGoodToTwoPercent) {
  double sum = 0;
  int sizes = 0;
  for (const double rate : {0.1, 0.01, 0.001}) {
    for (double size = 3000; size < 1.1e6; size *= 1.26) {
      const auto keys = static_cast<uint64_t>(size);
      SCOPED_TRACE(std::to_string(keys) + " keys at " + std::to_string(rate));
      ConcurrentFilter filter(Options(keys, rate));
      for (uint64_t i = 0; i < keys; ++i) filter.Add(Key(i * 3));
      const double error =
          static_cast<double>(filter.DistinctKeysEstimate()) / size - 1;
      EXPECT_LT(std::abs(error), 0.02);
      // Falls with the square root of the keys.
      EXPECT_LT(std::abs(error), 5 * 0.6 / std::sqrt(size));
      sum += error * std::sqrt(size);
      ++sizes;
    }
  }
  EXPECT_EQ(sizes, 78);
  // Neither high nor low on average.
  EXPECT_LT(std::abs(sum / sizes), 5 * 0.6 / std::sqrt(sizes));
}

}  // namespace
}  // namespace deltabloom
