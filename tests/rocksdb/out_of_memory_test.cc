// Out of memory in the policy and while a filter is built: RocksDB sees no
// exception, and no added key is lost.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "deltabloom/rocksdb_statistics.h"
#include "engines/rocksdb/bits_builder.h"
#include "engines/rocksdb/bits_reader.h"
#include "tests/rocksdb/test_db.h"
#include "tests/util/failing_new.h"

namespace deltabloom::testing {
namespace {

using internal::BitsBuilder;
using internal::BuilderSettings;
using rocksdb::Slice;

// Runs `action` with its allocation `number` failing; false if it has fewer.
template <typename Action>
bool FailsAt(long number, const Action& action) {
  test::FailAllocation(number);
  action();
  const bool failed = test::AllocationFailed();
  test::FailAllocation(-1);
  return failed;
}

// Parameters: layout, detect_corruption, optimize_for_memory.
class OutOfMemoryTest
    : public ::testing::TestWithParam<std::tuple<std::string, bool, bool>> {
 protected:
  // So many that their hashes lie in several blocks.
  static constexpr int kKeys = 5000;

  static std::vector<std::string> Keys() {
    std::vector<std::string> keys;
    for (int i = 0; i < kKeys; ++i) keys.push_back(Key(i));
    return keys;
  }
};

INSTANTIATE_TEST_SUITE_P(Builders, OutOfMemoryTest,
                         ::testing::Combine(::testing::ValuesIn(LayoutNames()),
                                            ::testing::Bool(),
                                            ::testing::Bool()));

TEST_P(OutOfMemoryTest, BuilderLosesNoKey) {
  const std::vector<std::string> keys = Keys();
  BuilderSettings settings;
  settings.layout = internal::FindLayoutOfName(std::get<0>(GetParam()));
  settings.millibits_per_key = 10000;
  settings.detect_corruption = std::get<1>(GetParam());
  settings.optimize_for_memory = std::get<2>(GetParam());
  long failures = 0;
  for (bool failed = true; failed; ++failures) {
    ASSERT_LT(failures, 200);
    BitsBuilder builder(settings);
    std::unique_ptr<const char[]> owner;
    rocksdb::Status status;
    Slice filter;
    failed = FailsAt(failures, [&] {
      for (const std::string& key : keys) builder.AddKey(key);
      filter = builder.Finish(&owner, &status);
    });
    ASSERT_ROCKSDB_OK(status);
    ASSERT_ROCKSDB_OK(builder.MaybePostVerify(filter));
    const std::unique_ptr<rocksdb::FilterBitsReader> reader(
        internal::NewSealedBitsReader(filter, {}));
    for (const std::string& key : keys) {
      ASSERT_TRUE(reader->MayMatch(key)) << key << ", failure " << failures;
    }
    // The next one has the memory.
    for (const std::string& key : keys) builder.AddKey(key);
    const Slice sound = builder.Finish(&owner, &status);
    EXPECT_GT(sound.size(), size_t{kKeys}) << failures;
  }
  EXPECT_GT(failures, 3);
}

TEST(PolicyOutOfMemoryTest, PolicyMakesNoBuilderOrASoundOne) {
  const PolicyPtr policy = Deltabloom();
  long failures = 0;
  for (bool failed = true; failed; ++failures) {
    ASSERT_LT(failures, 200);
    std::unique_ptr<rocksdb::FilterBitsBuilder> builder;
    failed =
        FailsAt(failures, [&] { builder = internal::NewBitsBuilder(*policy); });
    if (builder == nullptr) continue;
    builder->AddKey("key");
    EXPECT_EQ(builder->EstimateEntriesAdded(), 1u);
  }
  EXPECT_GT(failures, 1);
}

TEST(PolicyOutOfMemoryTest, ReaderIsNoneOrASoundOne) {
  const PolicyPtr policy = Deltabloom();
  const auto builder = internal::NewBitsBuilder(*policy);
  builder->AddKey("key");
  std::unique_ptr<const char[]> owner;
  const Slice filter = builder->Finish(&owner);
  std::unique_ptr<rocksdb::FilterBitsReader> reader;
  EXPECT_TRUE(
      FailsAt(0, [&] { reader = internal::NewBitsReader(*policy, filter); }));
  EXPECT_EQ(reader, nullptr);
  EXPECT_FALSE(
      FailsAt(1, [&] { reader = internal::NewBitsReader(*policy, filter); }));
  ASSERT_NE(reader, nullptr);
  EXPECT_TRUE(reader->MayMatch("key"));
}

// Each at the first filter of its policy, which makes room for the counters,
// and in lookups that make more.
TEST(PolicyOutOfMemoryTest, CountingReaderIsNoneOrASoundOne) {
  const PolicyPtr builds = Deltabloom();
  const auto builder = internal::NewBitsBuilder(*builds);
  builder->AddKey("key");
  std::unique_ptr<const char[]> owner;
  const Slice filter = builder->Finish(&owner);
  long failures = 0;
  for (bool failed = true; failed; ++failures) {
    ASSERT_LT(failures, 200);
    const PolicyPtr policy = Deltabloom();
    std::unique_ptr<rocksdb::FilterBitsReader> reader;
    bool found = true;
    failed = FailsAt(failures, [&] {
      reader = internal::NewBitsReader(*policy, filter);
      // In a thread's first lookup it gets its counters.
      if (reader != nullptr) found = reader->MayMatch("key");
    });
    EXPECT_TRUE(found);
    if (reader == nullptr) continue;
    EXPECT_TRUE(reader->MayMatch("key"));
    RocksDBFilterStatistics statistics;
    ASSERT_TRUE(GetRocksDBFilterStatistics(*policy, &statistics));
    EXPECT_EQ(statistics.Total().lookups, 2u) << failures;
  }
  EXPECT_GT(failures, 2);
}

}  // namespace
}  // namespace deltabloom::testing
