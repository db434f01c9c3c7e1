// The concurrent filter against a naive filter of layout local of the same
// size, from one thread and from many.
#include "deltabloom/concurrent_filter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <vector>

#include "deltabloom/filter.h"
#include "tests/random.h"
#include "tests/reference/reference.h"
#include "util/coding.h"
#include "util/layouts/local/local.h"

namespace deltabloom {
namespace {

// Keys of 8 to 19 bytes, all different.
std::string Key(uint64_t i) {
  char fixed[8];
  internal::StoreFixed64(fixed, i * 0x9E3779B97F4A7C15u);
  return std::string(fixed, 8) + std::string(i % 12, static_cast<char>(i));
}

// docs/format.md, chapter "local", taken literally.
std::string NaiveFilter(const BloomSize& size, uint8_t marker, uint64_t keys) {
  constexpr uint64_t kMultipliers[16] = {
      0x428a2f99, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
      0x923f82a5, 0xab1c5ed5, 0xd807aa99, 0x12835b01, 0x243185bf, 0x550c7dc3,
      0x72be5d75, 0x80deb1ff, 0x9bdc06a7, 0xc19bf175};
  const uint64_t blocks = size.bits / 512;
  const uint32_t first = marker <= 40 ? marker - 32 : (marker - 40 + 1) / 2;
  std::string filter(size.bits / 8 + 1, '\0');
  for (uint64_t i = 0; i < keys; ++i) {
    const uint64_t hash = reference::kLocal.hash(Key(i));
    __extension__ using Uint128 = unsigned __int128;
    const auto block = static_cast<uint64_t>(Uint128{hash} * blocks >> 64);
    for (uint32_t probe = 0; probe < size.probes; ++probe) {
      const uint32_t round = probe >= first ? 1 : 0;
      const uint64_t begin = hash >> 32 & 7;
      const uint64_t sector = (probe - round * first + 8 - begin) % 8;
      const uint64_t product =
          (hash & 0xffffffff) * kMultipliers[8 * round + sector] & 0xffffffff;
      const uint64_t word = sector + 8 * (product >> 26 & 1);
      const uint64_t bit =
          (block + round) % blocks * 512 + 32 * word + (product >> 27);
      filter[bit / 8] = static_cast<char>(filter[bit / 8] | 1 << bit % 8);
    }
  }
  filter.back() = static_cast<char>(marker);
  return filter;
}

// One block of up to 8 probes, or two of 8 each: nothing else is made.
std::string NaiveFilter(const BloomSize& size, uint64_t keys) {
  const uint32_t marker = size.probes <= 8 ? 32 + size.probes : 56;
  return NaiveFilter(size, static_cast<uint8_t>(marker), keys);
}

std::string Bytes(const ConcurrentFilter& filter) {
  std::string bytes;
  filter.AppendTo(&bytes);
  return bytes;
}

ConcurrentFilterOptions Options(uint64_t keys, double rate) {
  ConcurrentFilterOptions options;
  options.expected_keys = keys;
  options.false_positive_rate = rate;
  return options;
}

TEST(ConcurrentFilter, EqualsNaiveFilterAtEverySize) {
  const uint64_t seed = test::SeedOfThisRun();
  SCOPED_TRACE("seed " + std::to_string(seed));
  test::Random random(seed);
  uint32_t probes_seen = 0;
  for (int round = 0; round < 150; ++round) {
    const uint64_t keys = random.Below(round % 10 == 0 ? 20000 : 300);
    const double rate =
        std::pow(10, -0.1 * static_cast<double>(1 + random.Below(85)));
    SCOPED_TRACE(std::to_string(keys) + " keys at " + std::to_string(rate));
    ConcurrentFilter filter(Options(keys, rate));
    for (uint64_t i = 0; i < keys; ++i) filter.Add(Key(i));
    const BloomSize size = filter.Size();
    probes_seen |= 1u << size.probes;

    std::string bytes = "in front";
    filter.AppendTo(&bytes);
    EXPECT_EQ(bytes, "in front" + NaiveFilter(size, keys));

    bytes.erase(0, 8);
    const Filter view(bytes);
    for (uint64_t i = 0; i < 2 * keys; ++i) {
      const bool may_match = filter.MayMatch(Key(i));
      ASSERT_EQ(may_match, view.MayMatch(Key(i))) << i;
      ASSERT_TRUE(may_match || i >= keys) << i;
    }
  }
  EXPECT_GE(__builtin_popcount(probes_seen), 7);
}

// 10 bits per key: FilterBuilder's 125 blocks and 6 probes are also what sizing
// makes of the rate that they have.
TEST(ConcurrentFilter, EqualsFilterBuilder) {
  constexpr uint64_t kKeys = 6400;
  const double rate = internal::local::RateOfProbes({6, 0})(kKeys, 125);
  ConcurrentFilter filter(Options(kKeys, rate * 1.000001));
  ASSERT_EQ(filter.Size().bits, 64000u);
  ASSERT_EQ(filter.Size().probes, 6u);
  FilterOptions options;
  options.layout = Layout::kLocal;
  options.bits_per_key = 10;
  FilterBuilder builder(options);
  for (uint64_t i = 0; i < kKeys; ++i) {
    builder.AddKey(Key(i));
    filter.Add(Key(i));
  }
  std::string built;
  builder.Finish(&built);
  EXPECT_EQ(Bytes(filter), built);
}

TEST(ConcurrentFilter, TellsHowFullItIs) {
  constexpr uint64_t kKeys = 20000;
  ConcurrentFilter filter(Options(kKeys, 0.01));
  EXPECT_EQ(filter.ExpectedKeys(), kKeys);
  EXPECT_EQ(filter.ExpectedRate(), 0.01);
  EXPECT_EQ(filter.KeysAdded(), 0u);
  EXPECT_EQ(filter.DistinctKeysEstimate(), 0u);
  EXPECT_EQ(filter.FalsePositiveRate(), 0);
  EXPECT_FALSE(filter.MayMatch("absent"));

  uint64_t added = 0;
  for (const uint64_t until : {kKeys / 2, kKeys, 3 * kKeys}) {
    SCOPED_TRACE(until);
    for (; added < until; ++added) filter.Add(Key(added));
    EXPECT_EQ(filter.KeysAdded(), until);
    EXPECT_EQ(filter.IsOverfull(), until > kKeys);
    EXPECT_NEAR(static_cast<double>(filter.DistinctKeysEstimate()),
                static_cast<double>(until), 0.02 * static_cast<double>(until));
  }
  EXPECT_GT(filter.FalsePositiveRate(), 0.2);
}

TEST(ConcurrentFilter, DuplicatesCountButChangeNothing) {
  ConcurrentFilter filter(Options(100, 0.001));
  EXPECT_TRUE(filter.Add("key"));
  const std::string bytes = Bytes(filter);
  const double rate = filter.FalsePositiveRate();
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(filter.Add("key"));
  EXPECT_EQ(filter.KeysAdded(), 1001u);
  EXPECT_TRUE(filter.IsOverfull());
  EXPECT_EQ(filter.DistinctKeysEstimate(), 1u);
  EXPECT_EQ(filter.FalsePositiveRate(), rate);
  EXPECT_EQ(Bytes(filter), bytes);
}

TEST(ConcurrentFilter, FullOfOnes) {
  ConcurrentFilter filter(Options(0, 0.9));
  EXPECT_EQ(filter.Size().bits, 512u);
  for (uint64_t i = 0; i < 50000; ++i) filter.Add(Key(i));
  EXPECT_EQ(filter.DistinctKeysEstimate(), UINT64_MAX);
  EXPECT_EQ(filter.FalsePositiveRate(), 1);
  EXPECT_TRUE(filter.IsOverfull());
}

TEST(ConcurrentFilter, RefusesWhatCannotBe) {
  const double nan = std::nan("");
  for (const double rate : {0.0, 1.0, -0.5, 2.0, nan, 9e-10}) {
    EXPECT_NE(Options(10, rate).Validate().find("false_positive_rate"),
              std::string::npos)
        << rate;
    EXPECT_THROW(ConcurrentFilter{Options(10, rate)}, std::invalid_argument);
  }
  EXPECT_EQ(Options(10, 1e-9).Validate(), "");
  EXPECT_EQ(Options(uint64_t{1} << 40, 0.01).Validate(), "");
  for (const uint64_t keys : {(uint64_t{1} << 40) + 1, UINT64_MAX}) {
    EXPECT_NE(Options(keys, 0.5).Validate().find("expected_keys"),
              std::string::npos);
    EXPECT_THROW(ConcurrentFilter{Options(keys, 0.5)}, std::invalid_argument);
  }
}

TEST(ConcurrentFilter, KeysOfAnySize) {
  test::Random random(test::SeedOr(7));
  ConcurrentFilter filter(Options(200, 1e-6));
  std::vector<std::string> keys = {"", std::string(1, '\0'),
                                   std::string(1 << 20, 'x')};
  for (size_t size = 1; size < 100; ++size) keys.push_back(random.Key(size));
  for (const std::string& key : keys) filter.Add(key);
  for (const std::string& key : keys) EXPECT_TRUE(filter.MayMatch(key));
  EXPECT_FALSE(filter.MayMatch(std::string((1 << 20) - 1, 'x')));
}

// Writers add; each publishes how far it got. Readers must find everything
// published, at once.
TEST(ConcurrentFilter, ManyThreads) {
  constexpr unsigned kWriters = 4, kReaders = 3;
  constexpr uint64_t kKeysEach = 20000;
  ConcurrentFilter filter(Options(kWriters * kKeysEach, 0.01));
  std::atomic<uint64_t> published[kWriters] = {};
  std::atomic<uint64_t> said_new{0};
  std::atomic<unsigned> running{kWriters};

  std::vector<std::thread> threads;
  for (unsigned writer = 0; writer < kWriters; ++writer) {
    threads.emplace_back([&, writer] {
      uint64_t mine = 0;
      for (uint64_t i = 0; i < kKeysEach; ++i) {
        mine += filter.Add(Key(writer + i * kWriters));
        published[writer].store(i + 1, std::memory_order_release);
      }
      said_new += mine;
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
            const std::string key = Key(writer + index * kWriters);
            ASSERT_TRUE(filter.MayMatch(key)) << writer << " " << index;
          }
        }
        const uint64_t keys = filter.KeysAdded();
        ASSERT_GE(keys, last_count);
        last_count = keys;
        ASSERT_LE(filter.FalsePositiveRate(), 0.02);
        std::string bytes;
        filter.AppendTo(&bytes);
      } while (running > 0);
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(filter.KeysAdded(), kWriters * kKeysEach);
  EXPECT_FALSE(filter.IsOverfull());
  // No set bit was lost and none was counted twice.
  const std::string bytes = Bytes(filter);
  EXPECT_EQ(bytes, NaiveFilter(filter.Size(), kWriters * kKeysEach));
  // A new key that changes nothing is a false positive of its time.
  EXPECT_LE(said_new.load(), kWriters * kKeysEach);
  EXPECT_GE(said_new.load(), kWriters * kKeysEach * 98 / 100);
}

// Two busy threads that share a counter, which threads get in turn.
TEST(ConcurrentFilter, CountsUnderContention) {
  constexpr unsigned kThreads = 17;  // one more than there are counters
  constexpr uint64_t kKeysEach = 300000;
  ConcurrentFilter filter(Options(1000, 0.01));
  std::atomic<unsigned> started{0};
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      filter.Add(Key(0));  // takes the next counter
      ++started;
      if (thread != 0 && thread != kThreads - 1) return;
      while (started < kThreads) std::this_thread::yield();
      for (uint64_t i = 1; i < kKeysEach; ++i) filter.Add(Key(i % 1000));
    });
    while (started <= thread) std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(filter.KeysAdded(), 2 * kKeysEach + kThreads - 2);
  EXPECT_EQ(Bytes(filter), NaiveFilter(filter.Size(), 1000));
}

// All threads add the same keys: every bit is set, and counted, once.
TEST(ConcurrentFilter, ManyThreadsSameKeys) {
  constexpr uint64_t kKeys = 5000;
  ConcurrentFilter filter(Options(kKeys, 0.01));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&filter] {
      for (uint64_t key = 0; key < kKeys; ++key) filter.Add(Key(key));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(filter.KeysAdded(), 4 * kKeys);
  EXPECT_EQ(Bytes(filter), NaiveFilter(filter.Size(), kKeys));
  ConcurrentFilter alone(Options(kKeys, 0.01));
  for (uint64_t key = 0; key < kKeys; ++key) alone.Add(Key(key));
  EXPECT_EQ(filter.FalsePositiveRate(), alone.FalsePositiveRate());
  EXPECT_EQ(filter.DistinctKeysEstimate(), alone.DistinctKeysEstimate());
}

// What the filter reports of its rate and its keys, against what is measured.
// With DELTABLOOM_LONG_TESTS set, up to 10^8 keys.

// Keys of 8 bytes, in counting order: what weak hashes like least.
class Counted {
 public:
  explicit Counted(uint64_t i) { internal::StoreFixed64(bytes_, i); }
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
  for (uint64_t i = 0; i < count; ++i)
    found += filter.MayMatch(Counted(from + i));
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
    for (uint64_t i = 0; i < at.keys; ++i) filter.Add(Counted(i));
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
    for (; added < until; ++added) filter.Add(Counted(added));
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
      for (uint64_t i = 0; i < keys; ++i) filter.Add(Counted(i * 3));
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
