// Calls that RocksDB and programs make from several threads at the same time.
// The label `threads` marks tests that also run under ThreadSanitizer, which
// ignores RocksDB's own races.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "deltabloom/rocksdb.h"
#include "deltabloom/rocksdb_ranges.h"
#include "deltabloom/rocksdb_statistics.h"
#include "engines/rocksdb/policy/private_abi.h"
#include "engines/rocksdb/policy/sealed_bits.h"
#include "engines/rocksdb/statistics/lookup_cells.h"
#include "engines/rocksdb/statistics/statistics.h"
#include "tests/rocksdb/equal_keys.h"
#include "tests/rocksdb/range_scans.h"
#include "tests/rocksdb/ranges_db.h"
#include "tests/rocksdb/test_db.h"
#include "util/layouts/layout.h"

namespace deltabloom::testing {
namespace {

using internal::CountLookups;
using internal::LookupTotals;

// Threads that repeat their jobs until Stop, or until the end of the scope.
class Threads {
 public:
  Threads() = default;
  ~Threads() { Stop(); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  // `job` is called with the number of its round, once at least, and at most
  // `rounds` times.
  void Repeat(const std::function<void(unsigned)>& job, unsigned rounds = ~0u) {
    threads_.emplace_back([this, job, rounds] {
      unsigned round = 0;
      do {
        job(round++);
      } while (round < rounds && (rounds < ~0u || !stop_));
    });
  }
  void Stop() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

class BuilderThreadsTest : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Layouts, BuilderThreadsTest,
                         ::testing::Values("classic", "local", "compact"));

// RocksDB calls for a builder's count in one thread while another adds keys.
TEST_P(BuilderThreadsTest, CountIsSafeFromAnotherThread) {
  constexpr size_t kKeys = 20'000;
  internal::BuilderSettings settings;
  settings.layout = internal::FindLayoutOfName(GetParam());
  settings.millibits_per_key = 10000;
  internal::BitsBuilder builder(settings);
  std::atomic<bool> watching{false};
  Threads threads;
  threads.Repeat([&](unsigned) {
    EXPECT_LE(builder.EstimateEntriesAdded(), kKeys);
    watching = true;
  });
  while (!watching) std::this_thread::yield();
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < kKeys; ++i) builder.AddKey(std::to_string(i));
    EXPECT_EQ(builder.EstimateEntriesAdded(), kKeys);
    std::unique_ptr<const char[]> owner;
    EXPECT_GT(builder.Finish(&owner).size(), kKeys);
  }
  threads.Stop();
  EXPECT_EQ(builder.EstimateEntriesAdded(), 0u);
}

// Transformed and seeded keys: lookups in one reader, builders, registration, a
// changing option.
TEST(KeyMappingThreadsTest, EverythingAtOnce) {
  const std::vector<std::string> keys = Keys(0, 300);
  const auto expect_all = [&keys](rocksdb::FilterBitsReader* reader,
                                  unsigned spelling) {
    std::vector<std::string> spelt;
    for (const std::string& key : keys) {
      spelt.push_back(kIgnoreCase.spell(key, spelling));
    }
    EXPECT_EQ(Matches(reader, spelt), 300);
    EXPECT_EQ(MatchBatch(reader, spelt), std::vector<bool>(300, true));
  };
  const PolicyPtr policy = PolicyWith("ascii_lowercase", "local", true);
  const PolicyPtr other = PolicyWith("trim_trailing_spaces", "local");
  const std::string seeded = Build(*policy, keys);
  const std::string foreign = Build(*other, keys);
  const auto shared = NewBitsReader(*policy, seeded);
  constexpr unsigned kRounds = 30;
  Threads threads;
  for (const unsigned offset : {0u, 7u}) {
    threads.Repeat(
        [&, offset](unsigned round) {
          expect_all(shared.get(), round + offset);
        },
        kRounds);
  }
  threads.Repeat(
      [&](unsigned round) {
        const std::string filter = Build(*policy, keys);
        expect_all(NewBitsReader(*policy, filter).get(), round);
        EXPECT_EQ(Matches(*policy, foreign, {"absent"}), 1);
      },
      kRounds);
  threads.Repeat(
      [](unsigned round) {
        EXPECT_TRUE(RegisterForTest("test.threads", round + 1, Lower));
        EXPECT_NE(PolicyWith("test.threads"), nullptr);
      },
      kRounds);
  threads.Repeat(
      [&](unsigned round) {
        // SetOptions changes a policy in this way.
        auto* const changed = const_cast<FilterPolicy*>(policy.get());
        EXPECT_OK(changed->ConfigureOption(ConfigOptions(), "seeded",
                                           round % 2 == 0 ? "false" : "true"));
      },
      kRounds);
}

TEST(LookupCountersTest, EveryThreadsSum) {
  const uint32_t slot = internal::NewLookupSlot();
  Threads threads;
  for (int t = 0; t < 4; ++t) {
    threads.Repeat([slot](unsigned) { CountLookups(slot, 3, 2, 0.25); }, 1000);
  }
  threads.Repeat([slot](unsigned) { CountLookups(slot, 5, 1, 0.5); }, 1);
  threads.Stop();
  const LookupTotals sum = internal::SumLookups(slot);
  EXPECT_EQ(sum.lookups, 12'005u);
  EXPECT_EQ(sum.negatives, 8'001u);
  EXPECT_EQ(sum.expected, 1000.5);
}

TEST(LookupCountersTest, SlotsAreUsedAgainFromZero) {
  const uint32_t slot = internal::NewLookupSlot();
  CountLookups(slot, 7, 7, 7);
  internal::FreeLookupSlot(slot);
  EXPECT_EQ(internal::NewLookupSlot(), slot);
  EXPECT_EQ(internal::SumLookups(slot).lookups, 0u);
  CountLookups(slot, 1, 0, 0);
  EXPECT_EQ(internal::SumLookups(slot).lookups, 1u);
}

TEST(LookupCountersTest, WrapsAroundAndDifferencesAreRight) {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  internal::PolicyStatistics statistics;
  internal::FilterGroup& group = statistics.Group({6, "local"});
  CountLookups(group.slot, kMost - 2, kMost - 2, 1);
  group.Add(internal::FilterCounter::kBytesBuilt, kMost - 1);
  EXPECT_EQ(statistics.Get().Total().lookups, kMost - 2);
  statistics.Reset();
  CountLookups(group.slot, 10, 5, 1);
  group.Add(internal::FilterCounter::kBytesBuilt, 7);
  const RocksDBFilterRow row = statistics.Get().Total();
  EXPECT_EQ(row.lookups, 10u);
  EXPECT_EQ(row.negatives, 5u);
  EXPECT_EQ(row.bytes_built, 7u);
  EXPECT_EQ(row.expected_false_positives, 1);
}

// The last lookups of a thread, when its own counters are gone already.
struct LateLookups {
  ~LateLookups() {
    for (const uint32_t slot : slots) CountLookups(slot, 1, 1, 1);
  }
  std::vector<uint32_t> slots;
};

// There are more slots than a thread has at first. Threads reuse memory of
// ended ones.
TEST(LookupCountersTest, ManySlotsAlsoAtTheVeryEndOfAThread) {
  std::vector<uint32_t> slots(300);
  std::generate(slots.begin(), slots.end(), internal::NewLookupSlot);
  for (int i = 0; i < 3; ++i) {
    std::thread([&slots] {
      // This object is made first, so it is destroyed last.
      thread_local LateLookups late;
      late.slots = slots;
      for (const uint32_t slot : slots) CountLookups(slot, slot, 0, 0);
    }).join();
  }
  for (const uint32_t slot : slots) {
    const LookupTotals sum = internal::SumLookups(slot);
    EXPECT_EQ(sum.lookups, 3 * (slot + 1));
    EXPECT_EQ(sum.negatives, 3u);
  }
}

// Lookups, filters opened and closed, resets, snapshots and changes of the
// options at the same time: no race, and every lookup is counted.
TEST(LookupCountersTest, AllAtOnce) {
  const PolicyPtr policy = PolicyFromString("deltabloom:10:local");
  const std::string filter = Build(*policy, Keys(0, 1000));
  const RocksDBFilterRow before = GetRocksDBFilterStatistics().Total();
  const auto shared = NewBitsReader(*policy, filter);

  constexpr int kThreads = 3;
  constexpr int kRounds = 150;
  constexpr int kLookups = 100;
  std::atomic<uint64_t> negatives{0};
  Threads others;
  others.Repeat([&](unsigned i) {
    // Statistics stay on: what is counted shall be known.
    EXPECT_OK(const_cast<FilterPolicy&>(*policy).ConfigureFromMap(
        ConfigOptions(),
        {{"statistics", "true"}, {"bits_per_key", i % 2 == 0 ? "8" : "12"}}));
    EXPECT_TRUE(ResetRocksDBFilterStatistics(*policy));
    Build(*policy, {"key"});
  });
  others.Repeat([&](unsigned) {
    RocksDBFilterStatistics statistics;
    EXPECT_TRUE(GetRocksDBFilterStatistics(*policy, &statistics));
    for (const RocksDBFilterRow& row : statistics.rows) {
      EXPECT_LE(row.negatives, row.lookups);
      EXPECT_GE(row.expected_false_positives, 0);
    }
    EXPECT_FALSE(GetRocksDBFilterStatistics().ToPrometheus().empty());
    EXPECT_FALSE(statistics.ToJson().empty());
  });
  Threads lookups;
  for (int t = 0; t < kThreads; ++t) {
    lookups.Repeat(
        [&](unsigned) {
          const auto own = NewBitsReader(*policy, filter);
          for (int i = 1950; i < 1950 + kLookups; ++i) {
            negatives += shared->MayMatch(Key(i)) ? 0 : 1;
            negatives += own->MayMatch(Key(i)) ? 0 : 1;
          }
        },
        kRounds);
  }
  lookups.Stop();
  others.Stop();
  const RocksDBFilterRow after = GetRocksDBFilterStatistics().Total();
  EXPECT_EQ(after.lookups - before.lookups,
            uint64_t{2} * kThreads * kRounds * kLookups);
  EXPECT_EQ(after.negatives - before.negatives, negatives);
  EXPECT_EQ(after.filters_open, 1u);
}

// Writers, readers, SetOptions, statistics and compactions.
TEST(PolicyThreadsTest, EverythingAtOnce) {
  RocksDBFilterOptions filters;
  filters.statistics_log_seconds = 1;
  Options options = MakeOptions({NewRocksDBFilterPolicyOrThrow(filters)});
  options.disable_auto_compactions = false;
  options.write_buffer_size = 64 << 10;
  options.target_file_size_base = 32 << 10;
  options.max_bytes_for_level_base = 128 << 10;
  options.max_bytes_for_level_multiplier = 4;
  options.max_background_jobs = 4;
  options.max_subcompactions = 2;
  TestDb db(options);
  const auto scattered = [](uint64_t i) {
    return std::to_string(i * 0x9e3779b97f4a7c15);
  };
  Threads threads;
  threads.Repeat([&](unsigned i) {
    ASSERT_OK(db.SetPolicy(
        std::string("{bits_per_key=") + (i % 2 == 0 ? "8" : "12") +
        ";upper_bits_per_key=" + (i % 5 == 0 ? "12" : "unset") + ";}"));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  });
  threads.Repeat([&](unsigned) {
    ASSERT_FALSE(GetRocksDBFilterStatistics().ToText().empty());
    ResetRocksDBFilterStatistics();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  threads.Repeat([&](unsigned i) {
    std::string value;
    const Status status = db->Get({}, scattered(i % 2000), &value);
    ASSERT_TRUE(status.ok() || status.IsNotFound());
    ASSERT_TRUE(db->Get({}, scattered(i) + "absent", &value).IsNotFound());
  });
  for (uint64_t i = 0; i < 30'000; ++i) {
    ASSERT_OK(db->Put({}, scattered(i), "0123456789abcdef"));
  }
  db.Flush();
  FinishJobs(db);
  threads.Stop();
  std::string value;
  for (uint64_t i = 0; i < 30'000; ++i) {
    ASSERT_OK(db->Get({}, scattered(i), &value));
  }
}

// Scans in both directions beside a writer, flushes, compactions and
// statistics; one thread compares with RocksDB's own iterator at a snapshot.
TEST(RangesThreadsTest, EverythingAtOnce) {
  RocksDBRangeOptions range_options;
  range_options.prefixes = "12,60b";
  RangesDb db(range_options, [](Options* options, BlockBasedTableOptions*) {
    options->disable_auto_compactions = false;
    options->level0_file_num_compaction_trigger = 2;
    options->write_buffer_size = 64 << 10;
    options->target_file_size_base = 16 << 10;
    options->max_background_jobs = 4;
    options->max_subcompactions = 2;
  });
  std::atomic<uint64_t> scans{0};
  const auto bounds_of = [](unsigned i) {
    const auto first = static_cast<int>(i * 7919 % 20'000);
    return std::pair(Key(first), Key(first + 1 + static_cast<int>(i % 3)));
  };
  Threads threads;
  for (int t = 0; t < 2; ++t) {
    threads.Repeat([&](unsigned i) {
      const auto [lower, upper] = bounds_of(i);
      const auto scan = db.Scan(lower, std::string_view(upper));
      for (const std::string& key : AllKeys(scan.get())) {
        ASSERT_TRUE(lower <= key && key < upper) << key;
      }
      ++scans;
    });
  }
  threads.Repeat([&](unsigned i) {
    const auto [lower, upper] = bounds_of(i);
    const rocksdb::Snapshot* const snapshot = db->GetSnapshot();
    ReadOptions read;
    read.snapshot = snapshot;
    {
      const Model model(db, read, db->DefaultColumnFamily(), {lower, upper});
      ASSERT_EQ(db.KeysOf(lower, std::string_view(upper), read),
                AllKeys(model.get()));
    }
    db->ReleaseSnapshot(snapshot);
    ++scans;
  });
  threads.Repeat([&](unsigned) {
    const RocksDBRangeStatistics statistics = db.ranges->Statistics();
    ASSERT_LE(statistics.tables_rejected, statistics.tables);
    ASSERT_LE(statistics.empty_scans, statistics.scans);
    Options options = MakeOptions({nullptr});
    ASSERT_TRUE(db.ranges->AddTo(&options));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  for (int i = 0; i < 20'000; ++i) {
    const std::string key = Key(2 * (i * 7919 % 10'000));
    if (i % 10 == 9) {
      ASSERT_OK(db->Delete({}, key));
    } else {
      ASSERT_OK(db->Put({}, key, "0123456789abcdef"));
    }
  }
  db.Compact();
  threads.Stop();
  // Threads that got no time have made one scan each.
  for (unsigned i = 0; i < 200; ++i) {
    const auto [lower, upper] = bounds_of(i);
    AllKeys(db.Scan(lower, std::string_view(upper)).get());
    ++scans;
  }
  const RocksDBRangeStatistics statistics = db.ranges->Statistics();
  EXPECT_EQ(statistics.scans, scans);
  EXPECT_GT(statistics.tables_rejected, 0u);
  EXPECT_GT(statistics.filters_built, 0u);
}

}  // namespace
}  // namespace deltabloom::testing
