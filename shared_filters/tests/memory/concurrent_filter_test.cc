// The concurrent filter against a naive filter of layout local of the same
// size, from one thread and from many; its rates against measured ones.
#include "deltabloom/concurrent_filter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "deltabloom/filter.h"
#include "deltabloom/sizing.h"
#include "tests/random.h"
#include "tests/reference/reference.h"
#include "util/coding.h"
#include "util/layouts/local/local.h"

namespace deltabloom {
namespace {

std::string Key(uint64_t i) { return std::to_string(i); }

// Returns the filter of Key(0) to Key(keys - 1), from the naive reference.
std::string NaiveFilter(const BloomSize& size, uint64_t keys) {
  std::vector<std::string> all;
  for (uint64_t i = 0; i < keys; ++i) all.push_back(Key(i));
  // One block of up to 8 probes, or two of 8 each: nothing else is made.
  const auto probes = static_cast<int>(size.probes);
  return reference::BuildLocal(all, probes <= 8 ? 32 + probes : 56,
                               size.bits / 8);
}

std::string Bytes(const ConcurrentFilter& filter) {
  std::string bytes = "in front";
  filter.AppendTo(&bytes);
  EXPECT_EQ(bytes.substr(0, 8), "in front");
  return bytes.substr(8);
}

ConcurrentFilterOptions Options(uint64_t keys, double rate) {
  ConcurrentFilterOptions options;
  options.expected_keys = keys;
  options.false_positive_rate = rate;
  return options;
}

TEST(ConcurrentFilter, EqualsNaiveFilterAtEverySize) {
  test::FreshRandom random;
  uint32_t probes_seen = 0;
  for (int round = 0; round < 150; ++round) {
    const uint64_t keys = random.Below(round % 10 == 0 ? 20000 : 300);
    const double rate =
        std::pow(10, -0.1 * static_cast<double>(1 + random.Below(85)));
    SCOPED_TRACE(std::to_string(keys) + " keys at " + std::to_string(rate));
    ConcurrentFilter filter(Options(keys, rate));
    for (uint64_t i = 0; i < keys; ++i) filter.Add(Key(i));
    probes_seen |= 1u << filter.Size().probes;

    const std::string bytes = Bytes(filter);
    EXPECT_EQ(bytes, NaiveFilter(filter.Size(), keys));
    const Filter view(bytes);
    for (uint64_t i = 0; i < 2 * keys; ++i) {
      const bool may_match = filter.MayMatch(Key(i));
      ASSERT_EQ(may_match, view.MayMatch(Key(i))) << i;
      ASSERT_TRUE(may_match || i >= keys) << i;
    }
  }
  EXPECT_GE(__builtin_popcount(probes_seen), 7);
}

TEST(ConcurrentFilter, TellsHowFullItIs) {
  constexpr uint64_t kKeys = 20000;
  ConcurrentFilter filter(Options(kKeys, 0.01));
  EXPECT_EQ(filter.FalsePositiveRate(), 0);
  EXPECT_FALSE(filter.MayMatch("absent"));
  uint64_t added = 0;
  for (const uint64_t until : {uint64_t{0}, kKeys / 2, kKeys, 3 * kKeys}) {
    SCOPED_TRACE(until);
    for (; added < until; ++added) filter.Add(Key(added));
    EXPECT_EQ(filter.KeysAdded(), until);
    EXPECT_EQ(filter.IsOverfull(), until > kKeys);
  }
  EXPECT_GT(filter.FalsePositiveRate(), 0.2);
}

TEST(ConcurrentFilter, DuplicatesCountButChangeNothing) {
  ConcurrentFilter filter(Options(0, 0.9));
  EXPECT_EQ(filter.Size().bits, 512u);
  EXPECT_TRUE(filter.Add("key"));
  const std::string bytes = Bytes(filter);
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(filter.Add("key"));
  EXPECT_EQ(filter.KeysAdded(), 1001u);
  EXPECT_EQ(filter.DistinctKeysEstimate(), 1u);
  EXPECT_EQ(Bytes(filter), bytes);
  // Full of ones.
  for (uint64_t i = 0; i < 50000; ++i) filter.Add(Key(i));
  EXPECT_EQ(filter.DistinctKeysEstimate(), UINT64_MAX);
  EXPECT_EQ(filter.FalsePositiveRate(), 1);
}

TEST(ConcurrentFilter, RejectsInvalidOptions) {
  const auto expect = [](const ConcurrentFilterOptions& options,
                         const char* says) {
    const std::string error = options.Validate();
    EXPECT_NE(error.find(says), error.npos) << error;
    EXPECT_THROW(ConcurrentFilter{options}, std::invalid_argument);
  };
  for (const double rate : {0.0, 1.0, -0.5, 2.0, std::nan(""), 9e-10}) {
    expect(Options(10, rate), "false_positive_rate");
  }
  for (const uint64_t keys : {(uint64_t{1} << 40) + 1, UINT64_MAX}) {
    expect(Options(keys, 0.5), "expected_keys");
  }
  EXPECT_EQ(Options(10, 1e-9).Validate(), "");
  EXPECT_EQ(Options(uint64_t{1} << 40, 0.01).Validate(), "");
}

// Writers add; each publishes how far it got. Readers must find everything
// published, at once.
TEST(ConcurrentFilter, ManyThreads) {
  constexpr unsigned kWriters = 4, kReaders = 3;
  constexpr uint64_t kKeysEach = 20000, kKeys = kWriters * kKeysEach;
  ConcurrentFilter filter(Options(kKeys, 0.01));
  std::atomic<uint64_t> published[kWriters] = {};
  std::atomic<uint64_t> said_new{0};
  std::atomic<unsigned> running{kWriters};

  std::vector<std::thread> threads;
  for (unsigned writer = 0; writer < kWriters; ++writer) {
    threads.emplace_back([&, writer] {
      for (uint64_t i = 0; i < kKeysEach; ++i) {
        said_new += filter.Add(Key(writer + i * kWriters));
        published[writer].store(i + 1, std::memory_order_release);
      }
      --running;
    });
  }
  for (unsigned reader = 0; reader < kReaders; ++reader) {
    threads.emplace_back([&, reader] {
      test::Random random(test::SeedOr(reader));
      uint64_t last_count = 0;
      do {
        for (unsigned writer = 0; writer < kWriters; ++writer) {
          const uint64_t count =
              published[writer].load(std::memory_order_acquire);
          for (int i = 0; i < 50 && count > 0; ++i) {
            // The newest key first, then any.
            const uint64_t index = i == 0 ? count - 1 : random.Below(count);
            ASSERT_TRUE(filter.MayMatch(Key(writer + index * kWriters)));
          }
        }
        const uint64_t keys = filter.KeysAdded();
        ASSERT_GE(keys, last_count);
        last_count = keys;
        ASSERT_LE(filter.FalsePositiveRate(), 0.02);
        Bytes(filter);
      } while (running > 0);
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(filter.KeysAdded(), kKeys);
  // No set bit was lost and none was counted twice.
  EXPECT_EQ(Bytes(filter), NaiveFilter(filter.Size(), kKeys));
  // A new key that changes nothing is a false positive of its time.
  EXPECT_LE(said_new, kKeys);
  EXPECT_GE(said_new, kKeys * 98 / 100);
}

// Keys of 8 bytes, in counting order: what weak hashes like least.
class Counted {
 public:
  explicit Counted(uint64_t i) { internal::StoreFixed64(bytes_, i); }
  operator std::string_view() const { return {bytes_, sizeof(bytes_)}; }

 private:
  char bytes_[8];
};

// The share of absent keys that match.
double Measure(const ConcurrentFilter& filter, uint64_t keys) {
  uint64_t found = 0;
  for (uint64_t i = 0; i < keys; ++i) {
    found += filter.MayMatch(Counted((uint64_t{1} << 40) + i));
  }
  return static_cast<double>(found) / static_cast<double>(keys);
}

// Within 5 standard deviations of the binomial distribution, and of the rate
// itself: a filter of few blocks is a draw of its own. With L keys in a block,
// the rate of a block goes like (1 - e^(-k L / 512))^k, and L spreads by its
// square root. As a share, that makes 0.6 / sqrt(blocks) with 6 probes at 1 %,
// 1.5 with 16 at 0.005 %.
void ExpectRate(const ConcurrentFilter& filter, double measured, uint64_t keys,
                double rate) {
  const double blocks = static_cast<double>(filter.Size().bits) / 512;
  const double spread = 0.15 * filter.Size().probes / std::sqrt(blocks);
  const auto n = static_cast<double>(keys);
  EXPECT_NEAR(
      measured, rate,
      5 * std::sqrt(rate * (1 - rate) / n + std::pow(rate * spread, 2)) +
          1 / n);
}

void ExpectReportedRate(uint64_t keys, double rate, uint64_t absent) {
  SCOPED_TRACE(std::to_string(keys) + " keys at " + std::to_string(rate));
  ConcurrentFilter filter(Options(keys, rate));
  for (uint64_t i = 0; i < keys; ++i) filter.Add(Counted(i));
  const double measured = Measure(filter, absent);
  ExpectRate(filter, measured, absent, filter.FalsePositiveRate());
  // The size was right: no key too many, no block too many.
  const uint32_t probes = filter.Size().probes;
  const internal::local::RateOfProbes rate_of(std::min(probes, 8u),
                                              probes <= 8 ? 0 : 8);
  const double planned = rate_of(keys, filter.Size().bits / 512);
  EXPECT_LE(planned, rate);
  ExpectRate(filter, measured, absent, planned);
  // The estimate's error falls with the square root of the keys.
  const auto n = static_cast<double>(keys);
  EXPECT_NEAR(static_cast<double>(filter.DistinctKeysEstimate()), n,
              std::min(0.02, 3 / std::sqrt(n)) * n);
  // Overfull.
  for (uint64_t i = keys; i < 3 * keys; ++i) filter.Add(Counted(i));
  ExpectRate(filter, Measure(filter, 500000), 500000,
             filter.FalsePositiveRate());
}

TEST(ConcurrentRate, ReportedIsMeasured) {
  for (const uint64_t keys : {3000u, 30000u, 300000u}) {
    for (const double rate : {0.3, 0.03, 0.01, 0.001, 0.00005}) {
      ExpectReportedRate(keys, rate, rate < 0.001 ? 4000000 : 1000000);
    }
  }
}

}  // namespace
}  // namespace deltabloom
