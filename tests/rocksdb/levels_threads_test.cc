// Writers, readers, SetOptions, read-back and compactions at the same time: for
// TSan.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tests/rocksdb/levels_db.h"

namespace deltabloom::testing {
namespace {

TEST(LevelsThreadsTest, EverythingAtOnce) {
  LevelsDb db;
  rocksdb::Options options = SmallTrees();
  options.max_background_jobs = 4;
  options.max_subcompactions = 2;
  db.Open(options, LevelsOptions(Layout::kAuto));
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    for (int i = 0; !stop; ++i) {
      ASSERT_ROCKSDB_OK(db.db()->SetOptions(
          {{"block_based_table_factory",
            std::string("{filter_policy={bits_per_key=") +
                (i % 2 == 0 ? "8" : "12") + ";allocation=" +
                (i % 5 == 0 ? "uniform" : "levels") + ";}}"}}));
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  threads.emplace_back([&] {
    while (!stop) {
      const std::string json = RocksDBFilterLevelsJson();
      ASSERT_EQ(json.front(), '{');
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  threads.emplace_back([&] {
    std::string value;
    for (uint64_t i = 0; !stop; ++i) {
      const rocksdb::Status status =
          db.db()->Get({}, Scattered(i % 2000), &value);
      ASSERT_TRUE(status.ok() || status.IsNotFound());
      ASSERT_TRUE(
          db.db()->Get({}, Scattered(i) + "absent", &value).IsNotFound());
    }
  });
  for (uint64_t i = 0; i < 30'000; ++i) {
    ASSERT_ROCKSDB_OK(db.db()->Put({}, Scattered(i), "0123456789abcdef"));
  }
  db.Settle();
  stop = true;
  for (std::thread& thread : threads) thread.join();
  std::string value;
  for (uint64_t i = 0; i < 30'000; ++i) {
    ASSERT_ROCKSDB_OK(db.db()->Get({}, Scattered(i), &value));
  }
}

}  // namespace
}  // namespace deltabloom::testing
