// The parts of filters that are shared: Murmur3 and offsets, division by a
// constant, atomic bits.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "shared_filters/atomic_bits.h"
#include "shared_filters/murmur3.h"
#include "tests/csv.h"
#include "tests/random.h"

namespace deltabloom::internal {
namespace {

// Guava's Hashing.murmur3_128() of keys of 0 to 70 bytes; GuavaSide.java
// writes the file.
TEST(Murmur3, EqualsGuava) {
  const auto rows = test::ReadCsv("murmur3.csv");
  ASSERT_EQ(rows.size(), 71u);
  for (const auto& row : rows) {
    const Murmur3Hash hash = HashMurmur3(test::FromHex(row[0]));
    EXPECT_EQ(hash.low, std::stoull(row[1], nullptr, 16)) << row[0];
    EXPECT_EQ(hash.high, std::stoull(row[2], nullptr, 16)) << row[0];
  }
}

// From the tests of Go's github.com/spaolacci/murmur3, seed 0.
TEST(Murmur3, EqualsGo) {
  const Murmur3Hash fox =
      HashMurmur3("The quick brown fox jumps over the lazy dog.");
  EXPECT_EQ(fox.low, 0xcd99481f9ee902c9u);
  EXPECT_EQ(fox.high, 0x695da1a38987b6e7u);
  EXPECT_EQ(HashMurmur3("hello").low, 0xcbd8a7b341bd9b02u);
  EXPECT_EQ(HashMurmur3({}).low, 0u);
}

TEST(Murmur3, OneByteMoreIsThatKeyWithTheByte) {
  test::Random random(test::SeedOr(1));
  for (size_t size = 0; size <= 70; ++size) {
    const std::string key = random.Key(size);
    for (unsigned byte = 0; byte < 256; ++byte) {
      const Murmur3Hash hash =
          Murmur3(key).FinishWith(static_cast<uint8_t>(byte));
      const Murmur3Hash expected = HashMurmur3(key + static_cast<char>(byte));
      ASSERT_EQ(hash.low, expected.low) << size << " " << byte;
      ASSERT_EQ(hash.high, expected.high) << size << " " << byte;
    }
  }
}

// By hand, from the definitions in docs/shared_filters_format.md.
TEST(Offsets, GuavaMitz32) {
  // 5 + 1 * 3, 5 + 2 * 3: low half first.
  const Murmur3Hash small{3ull << 32 | 5, 999};
  EXPECT_EQ(GuavaMitz32Offset(small, 0, 1000u), 8u);
  EXPECT_EQ(GuavaMitz32Offset(small, 1, 1000u), 11u);
  EXPECT_EQ(GuavaMitz32Offset(small, 1, 10u), 1u);
  // 0x7fffffff + 1 is negative: its complement is 0x7fffffff.
  const Murmur3Hash wraps{1ull << 32 | 0x7fffffff, 0};
  EXPECT_EQ(GuavaMitz32Offset(wraps, 0, uint64_t{1} << 40), 0x7fffffffu);
  // 0xffffffff + 2 wraps to 1.
  const Murmur3Hash passes_zero{1ull << 32 | 0xffffffff, 0};
  EXPECT_EQ(GuavaMitz32Offset(passes_zero, 1, uint64_t{1} << 40), 1u);
}

TEST(Offsets, GuavaMitz64) {
  const Murmur3Hash small{5, 3};
  EXPECT_EQ(GuavaMitz64Offset(small, 0, 1000u), 5u);
  EXPECT_EQ(GuavaMitz64Offset(small, 2, 1000u), 11u);
  // The sign bit is dropped, not complemented.
  const Murmur3Hash negative{0x8000000000000007, 1};
  EXPECT_EQ(GuavaMitz64Offset(negative, 0, 1000u), 7u);
  const Murmur3Hash wraps{UINT64_MAX, 2};
  EXPECT_EQ(GuavaMitz64Offset(wraps, 0, uint64_t{1} << 63), INT64_MAX + 0ull);
  EXPECT_EQ(GuavaMitz64Offset(wraps, 1, 1000u), 1u);
}

TEST(Offsets, GoMurmur3HashesTheKeyWithTheNumberOfTheProbe) {
  const Murmur3 key("hello");
  for (unsigned probe = 0; probe < 14; ++probe) {
    const std::string with = "hello" + std::string(1, static_cast<char>(probe));
    EXPECT_EQ(GoMurmur3Offset(key, static_cast<uint8_t>(probe), 1000003u),
              HashMurmur3(with).low % 1000003);
  }
}

TEST(Divisor, EqualsDivision) {
  const uint64_t seed = test::SeedOfThisRun();
  SCOPED_TRACE("seed " + std::to_string(seed));
  test::Random random(seed);
  std::vector<uint64_t> values = {1, 2, 3, 64, UINT64_MAX, UINT64_MAX - 1};
  for (unsigned bit = 1; bit < 64; ++bit) {
    const uint64_t power = uint64_t{1} << bit;
    values.insert(values.end(),
                  {power - 1, power, power + 1, random.Next() >> bit | 1});
  }
  for (const uint64_t value : values) {
    const Divisor divisor(value);
    EXPECT_EQ(divisor.value(), value);
    std::vector<uint64_t> numbers = {
        0, 1, value - 1, value, value + 1, UINT64_MAX, UINT64_MAX - 1};
    for (int i = 0; i < 500; ++i) {
      const uint64_t multiple = random.Next() / value * value;
      numbers.insert(numbers.end(),
                     {random.Next(), random.Next() >> random.Below(64),
                      multiple, multiple - 1, multiple + value - 1});
    }
    for (const uint64_t number : numbers) {
      ASSERT_EQ(number % divisor, number % value) << number << " " << value;
    }
  }
}

TEST(AtomicBits, ReportsWhatItSet) {
  AtomicBits bits(2);
  EXPECT_EQ(bits.bits(), 128u);
  EXPECT_EQ(bits.Or(1, 0b0011), 0b0011u);
  // Half of the mask is there already: only what fetch_or found missing counts.
  EXPECT_EQ(bits.Or(1, 0b0110), 0b0100u);
  EXPECT_EQ(bits.OrUnread(1, 0b0111), 0u);
  EXPECT_EQ(bits.Or(1, 0b0111), 0u);
  EXPECT_EQ(bits.Or(1, 0), 0u);
  EXPECT_EQ(bits.Word(0), 0u);
  EXPECT_EQ(bits.Word(1), 0b0111u);
  EXPECT_TRUE(bits.Set(127));
  EXPECT_FALSE(bits.Set(127));
  EXPECT_TRUE(bits.Get(127));
  EXPECT_TRUE(bits.Get(64));
  EXPECT_FALSE(bits.Get(63));
  EXPECT_EQ(bits.SetBits(), 4u);
}

// Two threads set the same bits, one by one. The one that is ahead has more to
// do, so they run side by side where there are two free CPUs, and often one
// reads a word just before the other writes it. Several rounds, since not in
// each of them both get to run.
TEST(AtomicBits, ConcurrentSettersReportEachBitOnce) {
  for (int round = 0; round < 12; ++round) {
    AtomicBits bits(20000);
    std::atomic<int> started{0};
    std::atomic<uint64_t> reported{0};
    const auto run = [&bits, &started, &reported] {
      ++started;
      while (started < 2) std::this_thread::yield();
      uint64_t mine = 0;
      for (uint64_t bit = 0; bit < bits.bits(); ++bit)
        mine += bits.Set(bit) ? 1 : 0;
      reported += mine;
    };
    std::thread other(run);
    run();
    other.join();
    ASSERT_EQ(reported, bits.bits());
    ASSERT_EQ(bits.SetBits(), bits.bits());
    for (uint64_t word = 0; word < bits.words(); ++word) {
      ASSERT_EQ(bits.Word(word), UINT64_MAX) << word;
    }
  }
}

TEST(StripedCounter, SumsWhatAllThreadsAdd) {
  StripedCounter counter;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 33; ++thread) {  // more than twice the stripes
    threads.emplace_back([&counter] {
      for (int i = 0; i < 1000; ++i) counter.Add(3);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter.Sum(), 33u * 3000);
}

}  // namespace
}  // namespace deltabloom::internal
