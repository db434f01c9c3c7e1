// Bits that threads set at the same time: each is reported by the one call that
// set it.
#include "shared_filters/atomic_bits.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace deltabloom::internal {
namespace {

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
