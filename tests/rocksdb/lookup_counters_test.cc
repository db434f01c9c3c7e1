// Counters of threads' own: sums, wraps, slots that are used again, threads
// that come and go; and all of it at once, for ThreadSanitizer.
#include "engines/rocksdb/statistics/lookup_counters.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/policy/private_abi.h"
#include "engines/rocksdb/statistics/statistics.h"
#include "rocksdb/convenience.h"

namespace deltabloom::testing {
namespace {

using internal::CountLookups;
using internal::FilterGroup;
using internal::LookupTotals;
using internal::PolicyStatistics;

constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();

TEST(LookupCountersTest, EveryThreadsSum) {
  const uint32_t slot = internal::NewLookupSlot();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([slot] {
      for (int i = 0; i < 1000; ++i) CountLookups(slot, 3, 2, 0.25);
    });
  }
  CountLookups(slot, 5, 1, 0.5);
  for (std::thread& thread : threads) thread.join();
  const LookupTotals sum = internal::SumLookups(slot);
  EXPECT_EQ(sum.lookups, 12'005u);
  EXPECT_EQ(sum.negatives, 8'001u);
  EXPECT_EQ(sum.expected, 1000.5);
  const LookupTotals freed = internal::FreeLookupSlot(slot);
  EXPECT_EQ(freed.lookups, sum.lookups);
}

TEST(LookupCountersTest, SlotsAreUsedAgainFromZero) {
  const uint32_t slot = internal::NewLookupSlot();
  CountLookups(slot, 7, 7, 7);
  internal::FreeLookupSlot(slot);
  EXPECT_EQ(internal::NewLookupSlot(), slot);
  EXPECT_EQ(internal::SumLookups(slot).lookups, 0u);
  CountLookups(slot, 1, 0, 0);
  EXPECT_EQ(internal::FreeLookupSlot(slot).lookups, 1u);
}

// More slots than a thread had room for when it began.
TEST(LookupCountersTest, ManySlots) {
  std::vector<uint32_t> slots;
  for (uint64_t i = 0; i < 300; ++i) {
    slots.push_back(internal::NewLookupSlot());
    CountLookups(slots.back(), i, i, static_cast<double>(i));
  }
  for (uint64_t i = 0; i < slots.size(); ++i) {
    EXPECT_EQ(internal::FreeLookupSlot(slots[i]).lookups, i);
  }
}

TEST(LookupCountersTest, WrapsAroundAndDifferencesAreRight) {
  PolicyStatistics statistics;
  FilterGroup& group = statistics.Group({6, "local"});
  CountLookups(group.slot, kMost - 2, kMost - 2, 1);
  group.bytes_built.fetch_add(kMost - 1);
  EXPECT_EQ(statistics.Get().Total().lookups, kMost - 2);
  statistics.Reset();
  CountLookups(group.slot, 10, 5, 1);
  group.bytes_built.fetch_add(7);
  const RocksDBFilterRow row = statistics.Get().Total();
  EXPECT_EQ(row.lookups, 10u);
  EXPECT_EQ(row.negatives, 5u);
  EXPECT_EQ(row.bytes_built, 7u);
  EXPECT_EQ(row.expected_false_positives, 1);
}

std::atomic<int> ticks{0};

TEST(LookupCountersTest, TicksAtEveryMultiple) {
  const uint32_t slot = internal::NewLookupSlot();
  internal::lookup_tick = [] { ++ticks; };
  ticks = 0;
  for (int i = 0; i < 640; ++i) CountLookups(slot, 1, 0, 0);
  EXPECT_EQ(ticks, 10);
  for (int i = 0; i < 20; ++i) CountLookups(slot, 32, 0, 0);
  EXPECT_EQ(ticks, 20);
  internal::lookup_tick = nullptr;
  internal::FreeLookupSlot(slot);
}

// A thread whose last lookups come when its own counters are gone already.
struct LateLookups {
  ~LateLookups() { CountLookups(slot, 1, 1, 1); }
  uint32_t slot = 0;
};

TEST(LookupCountersTest, LookupsAtTheVeryEndOfAThread) {
  const uint32_t slot = internal::NewLookupSlot();
  std::thread([slot] {
    // Made first, so destroyed last.
    thread_local LateLookups late;
    late.slot = slot;
    CountLookups(slot, 1, 0, 0);
  }).join();
  const LookupTotals sum = internal::FreeLookupSlot(slot);
  EXPECT_EQ(sum.lookups, 2u);
  EXPECT_EQ(sum.negatives, 1u);
}

// Lookups, filters opened and closed, resets, snapshots and changes of the
// options at the same time: no race, and nothing that was counted is lost.
TEST(LookupCountersTest, AllAtOnce) {
  RocksDBFilterOptions options;
  options.layout = Layout::kLocal;
  const auto policy = NewRocksDBFilterPolicy(options);
  ASSERT_NE(policy, nullptr);
  const auto builder = internal::NewBitsBuilder(*policy);
  for (int i = 0; i < 1000; ++i) builder->AddKey(std::to_string(i));
  std::unique_ptr<const char[]> owner;
  const rocksdb::Slice filter = builder->Finish(&owner);
  const RocksDBFilterRow before = GetRocksDBFilterStatistics().Total();
  const auto shared = internal::NewBitsReader(*policy, filter);

  constexpr int kThreads = 3;
  constexpr int kRounds = 150;
  constexpr int kLookups = 100;
  std::atomic<uint64_t> negatives{0};
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      uint64_t mine = 0;
      for (int round = 0; round < kRounds; ++round) {
        const auto own = internal::NewBitsReader(*policy, filter);
        for (int i = 0; i < kLookups; ++i) {
          const std::string key = std::to_string(950 + i);
          mine += shared->MayMatch(key) ? 0 : 1;
          mine += own->MayMatch(key) ? 0 : 1;
        }
      }
      negatives += mine;
    });
  }
  std::thread changes([&] {
    for (int i = 0; !done; ++i) {
      // Stays on: what is counted shall be known.
      rocksdb::ConfigOptions config;
      EXPECT_TRUE(const_cast<rocksdb::FilterPolicy&>(*policy)
                      .ConfigureFromMap(
                          config, {{"statistics", "true"},
                                   {"bits_per_key", i % 2 == 0 ? "8" : "12"}})
                      .ok());
      EXPECT_TRUE(ResetRocksDBFilterStatistics(*policy));
      const auto another = internal::NewBitsBuilder(*policy);
      another->AddKey("key");
      std::unique_ptr<const char[]> bytes;
      another->Finish(&bytes);
    }
  });
  std::thread snapshots([&] {
    while (!done) {
      RocksDBFilterStatistics statistics;
      EXPECT_TRUE(GetRocksDBFilterStatistics(*policy, &statistics));
      for (const RocksDBFilterRow& row : statistics.rows) {
        EXPECT_LE(row.negatives, row.lookups);
        EXPECT_GE(row.expected_false_positives, 0);
      }
      EXPECT_FALSE(GetRocksDBFilterStatistics().ToPrometheus().empty());
      EXPECT_FALSE(statistics.ToJson().empty());
    }
  });
  for (std::thread& thread : threads) thread.join();
  done = true;
  changes.join();
  snapshots.join();
  const RocksDBFilterRow after = GetRocksDBFilterStatistics().Total();
  EXPECT_EQ(after.lookups - before.lookups,
            uint64_t{2} * kThreads * kRounds * kLookups);
  EXPECT_EQ(after.negatives - before.negatives, negatives);
  EXPECT_EQ(after.filters_open, 1u);
}

}  // namespace
}  // namespace deltabloom::testing
