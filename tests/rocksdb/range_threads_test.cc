// Ranges asked by several threads while tables are flushed and compacted and
// `range` is switched off and on. For ThreadSanitizer, too: RocksDB's own races
// are not looked at there.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tests/rocksdb/range_db.h"

namespace deltabloom::testing {
namespace {

constexpr uint64_t kNumbers = 300;
constexpr int kRounds = 12;

void PutNumbers(rocksdb::DB* db) {
  for (uint64_t i = 1; i <= kNumbers; ++i) {
    ASSERT_ROCKSDB_OK(db->Put({}, Nth(i), "value"));
  }
  ASSERT_ROCKSDB_OK(db->Flush({}));
}

// One iterator whose bound moves over a key, and over nothing.
void AskRanges(rocksdb::DB* db) {
  Scan scan(db, Nth(1));
  for (uint64_t i = 1; i <= kNumbers; ++i) {
    scan.MoveUpper(Nth(i, 1));
    EXPECT_EQ(scan.First(Nth(i, -1000)), Nth(i));
    scan.MoveUpper(Nth(i, kHalf + 1000));
    EXPECT_EQ(scan.First(Nth(i, kHalf)), "none");
  }
}

// What makes the same calls of the extractor, and asks for keys.
void AskKeys(rocksdb::DB* db) {
  std::string value;
  for (uint64_t i = 1; i <= kNumbers; ++i) {
    EXPECT_ROCKSDB_OK(db->Get({}, Nth(i), &value));
    EXPECT_TRUE(db->Get({}, Nth(i, kHalf), &value).IsNotFound());
  }
}

class RangeThreadsTest : public RangeTest {};
INSTANTIATE_TEST_SUITE_P(FullAndPartitioned, RangeThreadsTest,
                         ::testing::Bool());

TEST_P(RangeThreadsTest, ScansFlushesCompactionsAndSetOptions) {
  rocksdb::Options options = MakeRangeOptions();
  options.disable_auto_compactions = false;
  options.level0_file_num_compaction_trigger = 2;
  const auto db = Open(options, Path());
  PutNumbers(db.get());
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      do {
        AskRanges(db.get());
      } while (!done);
    });
  }
  threads.emplace_back([&] {
    while (!done) AskKeys(db.get());
  });
  threads.emplace_back([&] {
    // Extractors and policies come and go, each with its look at RocksDB.
    while (!done) {
      TempDir dir;
      const auto other = Open(MakeRangeOptions(), dir.Path("db"));
      PutNumbers(other.get());
      AskRanges(other.get());
    }
  });
  for (int round = 0; round < kRounds; ++round) {
    ASSERT_ROCKSDB_OK(
        db->SetOptions({{"table_factory.filter_policy.deltabloom.range",
                         round % 3 == 1 ? "off" : "on"}}));
    PutNumbers(db.get());
  }
  rocksdb::CompactRangeOptions all;
  all.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
  ASSERT_ROCKSDB_OK(db->CompactRange(all, nullptr, nullptr));
  done = true;
  for (std::thread& thread : threads) thread.join();
  if (GetParam() && !AsksPartitions()) return;
  // The last tables were written with range=on.
  const uint64_t before = CountedBy(options).range_negatives;
  AskRanges(db.get());
  EXPECT_GT(CountedBy(options).range_negatives - before, kNumbers * 9 / 10);
}

}  // namespace
}  // namespace deltabloom::testing
