// Counters in a database where SetOptions, lookups, flushes and compactions run
// at the same time. For ThreadSanitizer, too: RocksDB's own races are not
// looked at there.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "deltabloom/rocksdb_statistics.h"
#include "tests/rocksdb/test_db.h"

namespace deltabloom::testing {
namespace {

TEST(StatisticsThreadsTest, LookupsCompactionsAndSetOptions) {
  TempDir dir;
  const PolicyPtr policy =
      PolicyFromString("id=deltabloom:10:auto;statistics_log_seconds=1");
  DbConfig config;
  config.policy = policy;
  config.change = [](rocksdb::Options* options,
                     rocksdb::BlockBasedTableOptions*) {
    options->disable_auto_compactions = false;
    options->level0_file_num_compaction_trigger = 2;
  };
  const auto db = Open(MakeOptions(config), dir.Path("db"));
  constexpr int kKeys = 500;
  Load(db.get(), 0, kKeys);
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      std::string value;
      for (int i = 0; !done; i = (i + 1) % kKeys) {
        EXPECT_ROCKSDB_OK(db->Get({}, Key(2 * i), &value));
        EXPECT_TRUE(db->Get({}, Key(2 * i + 1), &value).IsNotFound());
      }
    });
  }
  threads.emplace_back([&] {
    while (!done) {
      ResetRocksDBFilterStatistics(*policy);
      RocksDBFilterStatistics statistics;
      ASSERT_TRUE(GetRocksDBFilterStatistics(*policy, &statistics));
      for (const RocksDBFilterRow& row : statistics.rows) {
        EXPECT_LE(row.negatives, row.lookups);
      }
      EXPECT_FALSE(GetRocksDBFilterStatistics().ToText().empty());
      std::this_thread::yield();
    }
  });
  for (int round = 0; round < 12; ++round) {
    ASSERT_ROCKSDB_OK(
        db->SetOptions({{"table_factory.filter_policy.deltabloom.statistics",
                         round % 3 == 1 ? "false" : "true"}}));
    Load(db.get(), 0, kKeys);
  }
  ASSERT_ROCKSDB_OK(db->CompactRange({}, nullptr, nullptr));
  done = true;
  for (std::thread& thread : threads) thread.join();
  const RocksDBFilterRow all = GetRocksDBFilterStatistics().Total();
  EXPECT_GT(all.lookups, 0u);
  EXPECT_GT(all.keys_built, uint64_t{kKeys});
}

}  // namespace
}  // namespace deltabloom::testing
