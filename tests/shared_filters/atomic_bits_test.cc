// Bits that threads set at the same time: each is counted by the one call that
// set it.
#include "shared_filters/atomic_bits.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace deltabloom::internal {
namespace {

TEST(AtomicBits, CountsWhatItSet) {
  AtomicBits bits(2);
  EXPECT_EQ(bits.bits(), 128u);
  EXPECT_EQ(bits.Or(1, 0b0011), 2u);
  // Half of the mask is there already: only what fetch_or found missing counts.
  EXPECT_EQ(bits.Or(1, 0b0110), 1u);
  EXPECT_EQ(bits.Or(1, 0b0111), 0u);
  EXPECT_EQ(bits.Or(1, 0), 0u);
  EXPECT_EQ(bits.Word(0), 0u);
  EXPECT_EQ(bits.Word(1), 0b0111u);
  EXPECT_EQ(bits.Set(127), 1u);
  EXPECT_EQ(bits.Set(127), 0u);
  EXPECT_TRUE(bits.Get(127));
  EXPECT_TRUE(bits.Get(64));
  EXPECT_FALSE(bits.Get(63));
  EXPECT_EQ(bits.SetBits(), 0u);
  bits.CountSet(4);
  EXPECT_EQ(bits.SetBits(), 4u);
}

// Two threads set the bits of one word in step, in thousands of words: whoever
// reads the word before both have written must not count the other's bits.
TEST(AtomicBits, ConcurrentSettersCountEachBitOnce) {
  constexpr uint64_t kWords = 20000;
  AtomicBits bits(kWords);
  std::atomic<uint64_t> arrived{0};
  const auto run = [&bits, &arrived](uint64_t mask) {
    for (uint64_t word = 0; word < kWords; ++word) {
      arrived.fetch_add(1);
      for (int spins = 0; arrived.load() < 2 * (word + 1); ++spins) {
        if (spins > 100) std::this_thread::yield();
      }
      bits.CountSet(bits.Or(word, mask));
    }
  };
  std::thread other(run, 0x00ffff);
  run(0xffff00);
  other.join();
  EXPECT_EQ(bits.SetBits(), 24 * kWords);
  for (uint64_t word = 0; word < kWords; ++word) {
    ASSERT_EQ(bits.Word(word), 0xffffffu) << word;
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
