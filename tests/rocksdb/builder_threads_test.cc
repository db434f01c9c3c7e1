// RocksDB asks a builder for its count from one thread while another one adds
// keys. A program of its own, small enough to run under ThreadSanitizer.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "engines/rocksdb/policy/bits_builder.h"

namespace deltabloom::testing {
namespace {

using internal::BitsBuilder;
using internal::BuilderSettings;

class BuilderThreadsTest : public ::testing::TestWithParam<const char*> {};

TEST_P(BuilderThreadsTest, CountIsSafeFromAnotherThread) {
  constexpr size_t kKeys = 20'000;
  BuilderSettings settings;
  settings.layout = internal::FindLayoutOfName(GetParam());
  settings.millibits_per_key = 10000;
  BitsBuilder builder(settings);
  std::atomic<bool> watching{false};
  std::atomic<bool> done{false};
  std::thread watcher([&] {
    while (!done) {
      EXPECT_LE(builder.EstimateEntriesAdded(), kKeys);
      watching = true;
    }
  });
  while (!watching) std::this_thread::yield();
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < kKeys; ++i) builder.AddKey(std::to_string(i));
    EXPECT_EQ(builder.EstimateEntriesAdded(), kKeys);
    std::unique_ptr<const char[]> owner;
    EXPECT_GT(builder.Finish(&owner).size(), kKeys);
  }
  done = true;
  watcher.join();
  EXPECT_EQ(builder.EstimateEntriesAdded(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Layouts, BuilderThreadsTest,
                         ::testing::Values("classic", "local", "compact"));

}  // namespace
}  // namespace deltabloom::testing
