// The concurrent filter against a naive classic filter of the same size, from
// one thread and from many.
#include "deltabloom/concurrent_filter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <stdexcept>
#include <thread>
#include <vector>

#include "deltabloom/filter.h"
#include "tests/random.h"
#include "util/coding.h"
#include "util/hash.h"

namespace deltabloom {
namespace {

// Keys of 0 to 19 bytes, all different from 8 bytes on.
std::string Key(uint64_t i) {
  char fixed[8];
  internal::StoreFixed64(fixed, i * 0x9E3779B97F4A7C15u);
  return std::string(fixed, 8) + std::string(i % 12, static_cast<char>(i));
}

// docs/format.md, chapter "classic", taken literally.
std::string NaiveFilter(const BloomSize& size, uint64_t keys) {
  std::string filter(size.bits / 8 + 1, '\0');
  for (uint64_t i = 0; i < keys; ++i) {
    const std::string key = Key(i);
    uint32_t hash = internal::MurmurHash2(key.data(), key.size(), 0xbc9f1d34);
    const uint32_t delta = hash >> 17 | hash << 15;
    for (uint32_t probe = 0; probe < size.probes; ++probe, hash += delta) {
      const uint64_t position = hash % size.bits;
      filter[position / 8] =
          static_cast<char>(filter[position / 8] | 1 << position % 8);
    }
  }
  filter.back() = static_cast<char>(size.probes);
  return filter;
}

uint64_t SetBits(const std::string& filter) {
  uint64_t bits = 0;
  for (size_t i = 0; i + 1 < filter.size(); ++i) {
    bits += static_cast<uint64_t>(
        __builtin_popcount(static_cast<unsigned char>(filter[i])));
  }
  return bits;
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
  for (int round = 0; round < 120; ++round) {
    const uint64_t keys = random.Below(round % 10 == 0 ? 20000 : 300);
    const double rate =
        std::pow(10, -0.1 * static_cast<double>(1 + random.Below(49)));
    SCOPED_TRACE(std::to_string(keys) + " keys at " + std::to_string(rate));
    ConcurrentFilter filter(Options(keys, rate));
    for (uint64_t i = 0; i < keys; ++i) filter.Add(Key(i));
    const BloomSize size = filter.Size();
    EXPECT_LE(FalsePositiveRate(size.bits, keys, size.probes), rate);

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
}

// 9 bits per key: FilterBuilder's 57,600 bits and 6 probes are also what sizing
// makes of the rate that they have.
TEST(ConcurrentFilter, EqualsFilterBuilder) {
  constexpr uint64_t kKeys = 6400;
  const double rate = FalsePositiveRate(57600, kKeys, 6) + kKeys / 4294967296.0;
  ConcurrentFilter filter(Options(kKeys, rate * 1.000001));
  ASSERT_EQ(filter.Size().bits, 57600u);
  FilterOptions options;
  options.bits_per_key = 9;
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
    // Exactly what its bits say ...
    const BloomSize size = filter.Size();
    const double filled = static_cast<double>(SetBits(Bytes(filter))) /
                          static_cast<double>(size.bits);
    const double by_bits = std::pow(filled, size.probes);
    const double rate = filter.FalsePositiveRate();
    const double same_hash = static_cast<double>(until) / 4294967296.0;
    EXPECT_NEAR(rate, by_bits + (1 - by_bits) * same_hash, 0.05 * same_hash);
    // ... and near to what the keys say: the standard deviation of the filled
    // share is at most 1/2 sqrt(bits).
    const double deviations =
        5 * 0.5 / std::sqrt(static_cast<double>(size.bits)) / filled;
    const double expected = FalsePositiveRate(size.bits, until, size.probes);
    EXPECT_NEAR(rate, expected, expected * deviations * size.probes);
    EXPECT_NEAR(static_cast<double>(filter.DistinctKeysEstimate()),
                static_cast<double>(until), 0.02 * static_cast<double>(until));
  }
  EXPECT_GT(filter.FalsePositiveRate(), 0.3);
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
  EXPECT_EQ(filter.Size().bits, 64u);
  for (uint64_t i = 0; i < 5000; ++i) filter.Add(Key(i));
  EXPECT_EQ(filter.DistinctKeysEstimate(), UINT64_MAX);
  EXPECT_EQ(filter.FalsePositiveRate(), 1);
  EXPECT_TRUE(filter.IsOverfull());
}

TEST(ConcurrentFilter, RefusesWhatCannotBe) {
  const double nan = std::nan("");
  for (const double rate : {0.0, 1.0, -0.5, 2.0, nan}) {
    EXPECT_NE(Options(10, rate).Validate().find("false_positive_rate"),
              std::string::npos)
        << rate;
    EXPECT_THROW(ConcurrentFilter{Options(10, rate)}, std::invalid_argument);
  }
  EXPECT_EQ(Options(10000000, 0.01).Validate(), "");
  EXPECT_EQ(Options(500000000, 0.2).Validate(), "");
  for (const auto& options :
       {Options(400000000, 0.01),    // more than one in 2^32/100 hashes taken
        Options(600000000, 0.1401),  // hash leaves room, 2^32 bits do not
        Options(UINT64_MAX, 0.5), Options(10, 1e-18)}) {
    EXPECT_NE(options.Validate().find("expected_keys"), std::string::npos)
        << options.expected_keys;
    EXPECT_THROW(ConcurrentFilter{options}, std::invalid_argument);
  }
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
      test::Random random(reader);
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
  const BloomSize size = filter.Size();
  EXPECT_GE(filter.FalsePositiveRate(),
            std::pow(static_cast<double>(SetBits(bytes)) /
                         static_cast<double>(size.bits),
                     size.probes));
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

}  // namespace
}  // namespace deltabloom
