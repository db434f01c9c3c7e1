// Out of memory while a filter is built and read: RocksDB sees no exception,
// and no added key is lost. Making policies is in policy_out_of_memory_test.cc.
#include <gtest/gtest.h>

#include <cstdarg>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "deltabloom/rocksdb_statistics.h"
#include "engines/rocksdb/policy/bits_builder.h"
#include "engines/rocksdb/policy/bits_reader.h"
#include "rocksdb/env.h"
#include "table/framing.h"
#include "tests/rocksdb/test_db.h"
#include "tests/util/replaced_new.h"
#include "util/range/range_part.h"

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

// A range part that memory lacks for is left out, and no range with a key is
// denied. Lookups in it need none.
TEST(BuilderOutOfMemoryTest, RangesLoseNoKey) {
  constexpr int kKeys = 2000;
  std::vector<std::string> keys = {""};  // the extractor's prefix
  for (int i = 0; i < kKeys; ++i) keys.push_back(Key(2 * i));
  BuilderSettings settings;
  settings.layout = internal::FindLayoutOfName("local");
  settings.millibits_per_key = 16000;
  settings.range = true;
  int with_ranges = 0;
  int without = 0;
  bool failed = true;
  for (long number = 0; failed; ++number) {
    ASSERT_LT(number, 1000);
    BitsBuilder builder(settings);
    std::unique_ptr<const char[]> owner;
    Slice filter;
    failed = FailsAt(number, [&] {
      for (const std::string& key : keys) builder.AddKey(key);
      filter = builder.Finish(&owner);
    });
    const std::unique_ptr<rocksdb::FilterBitsReader> reader(
        internal::NewSealedBitsReader(filter, {}));
    for (const std::string& key : keys) ASSERT_TRUE(reader->MayMatch(key));
    internal::ParsedFilter parsed;
    std::string_view range_part;
    if (internal::ParseSealed(filter.ToStringView(), internal::ActiveCpu(),
                              &parsed,
                              nullptr) == internal::FilterKind::kFilter) {
      range_part = internal::RangePartOf(filter.ToStringView());
    }
    if (range_part.empty()) {
      ++without;
      continue;
    }
    ++with_ranges;
    const std::string absent = Key(7);
    const std::string behind_absent = Key(8);
    std::vector<std::string> ends;
    for (const std::string& key : keys) ends.push_back(key + '\0');
    EXPECT_FALSE(FailsAt(0, [&] {
      const internal::RangePart part(range_part);
      for (size_t i = 1; i < keys.size(); ++i) {
        ASSERT_TRUE(part.MayMatch(keys[i], ends[i]));
        ASSERT_TRUE(part.HasKeyFrom(keys[0]));
      }
      static_cast<void>(part.MayMatch(absent, behind_absent));
    }));
  }
  EXPECT_GT(with_ranges, 0);
  EXPECT_GT(without, 0);
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

// The error that a builder has to tell, and its warning, without memory.
TEST(BuilderOutOfMemoryTest, ErrorsAreTold) {
  class Damaged : public BitsBuilder {
   public:
    using BitsBuilder::BitsBuilder;
    void Damage() { hashes_.Add(42); }
  };
  BuilderSettings settings;
  settings.layout = internal::FindLayoutOfName("local");
  settings.millibits_per_key = 10000;
  settings.detect_corruption = true;
  bool failed = true;
  for (long number = 0; failed; ++number) {
    ASSERT_LT(number, 200);
    Damaged builder(settings);
    for (int i = 0; i < 100; ++i) builder.AddKey(Key(i));
    builder.Damage();
    std::unique_ptr<const char[]> owner;
    rocksdb::Status status;
    Slice filter;
    failed = FailsAt(number, [&] { filter = builder.Finish(&owner, &status); });
    EXPECT_TRUE(status.IsCorruption()) << status.ToString();
    const std::unique_ptr<rocksdb::FilterBitsReader> reader(
        internal::NewSealedBitsReader(filter, {}));
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(reader->MayMatch(Key(i)));
  }
}

TEST(BuilderOutOfMemoryTest, FilterChangedBehindIt) {
  BuilderSettings settings;
  settings.layout = internal::FindLayoutOfName("classic");
  settings.millibits_per_key = 10000;
  settings.detect_corruption = true;
  bool failed = true;
  for (long number = 0; failed; ++number) {
    ASSERT_LT(number, 200);
    BitsBuilder builder(settings);
    builder.AddKey("key");
    std::unique_ptr<const char[]> owner;
    const Slice filter = builder.Finish(&owner);
    const_cast<char*>(filter.data())[filter.size() - 9] ^= 1;
    rocksdb::Status status;
    failed = FailsAt(number, [&] { status = builder.MaybePostVerify(filter); });
    EXPECT_TRUE(status.IsCorruption()) << status.ToString();
  }
}

// A logger that allocates, as one of a user's may.
class Lines final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override { lines.emplace_back(100, 'x'); }

  std::vector<std::string> lines;
};

struct WarnedFilter {
  bool failed;  // there was such an allocation
  bool warned;  // at once
  size_t size;
};

// Builds a filter, with allocation `number` of Finish failing, and another one,
// and tells of the first.
WarnedFilter FinishTwice(BuilderSettings settings, long number, Lines* log) {
  settings.log = log;
  settings.tally = std::make_shared<internal::SharedTally>();
  BitsBuilder builder(settings);
  std::unique_ptr<const char[]> owner;
  for (int i = 0; i < 100; ++i) builder.AddKey(Key(i));
  WarnedFilter first;
  first.failed =
      FailsAt(number, [&] { first.size = builder.Finish(&owner).size(); });
  first.warned = !log->lines.empty();
  for (int i = 0; i < 100; ++i) builder.AddKey(Key(i));
  builder.Finish(&owner);
  return first;
}

TEST(BuilderOutOfMemoryTest, WarningComesWithTheNextFilter) {
  internal::LayoutRow few_keys = *internal::FindLayoutOfName("classic");
  few_keys.many_keys = 50;
  BuilderSettings usual;
  usual.layout = internal::FindLayoutOfName("local");
  usual.millibits_per_key = 10000;
  std::vector<BuilderSettings> warned(4, usual);
  warned[0].layout = &few_keys;
  warned[1].max_filter_bytes = 100;  // lowers the bits per key
  warned[2].max_filter_bytes = 30;   // leaves too few for a filter
  warned[3].false_positive_rate = 1e-12;
  for (const BuilderSettings& settings : warned) {
    SCOPED_TRACE(&settings - warned.data());
    Lines sound_log;
    const WarnedFilter sound = FinishTwice(settings, -1, &sound_log);
    EXPECT_TRUE(sound.warned);
    EXPECT_EQ(sound_log.lines.size(), 1u);
    bool failed = true;
    long number = 0;
    for (; failed; ++number) {
      ASSERT_LT(number, 200);
      Lines log;
      const WarnedFilter filter = FinishTwice(settings, number, &log);
      failed = filter.failed;
      EXPECT_EQ(log.lines.size(), 1u);
      // A line that the LOG lacks costs no filter.
      if (!filter.warned) {
        EXPECT_EQ(filter.size, sound.size) << number;
      }
    }
    EXPECT_GT(number, 2);
  }
}

// Sealed filters of ours, sound and damaged in each way there is, filters of
// RocksDB's own, and other bytes.
std::vector<std::string> FiltersToRead(const PolicyPtr& policy) {
  std::vector<std::string> filters = {"", "abc", std::string(100, 'x')};
  for (const PolicyPtr& writer : {policy, RocksDBBloom(), RocksDBRibbon()}) {
    const auto builder = internal::NewBitsBuilder(*writer);
    builder->AddKey("key");
    std::unique_ptr<const char[]> owner;
    filters.push_back(builder->Finish(&owner).ToString());
  }
  const std::string ours = filters[3];
  for (size_t i = 0; i < ours.size(); ++i) {
    filters.push_back(ours);
    filters.back()[i] = static_cast<char>(filters.back()[i] ^ 0x55);
  }
  return filters;
}

TEST(ReaderOutOfMemoryTest, IsNoneOrASoundOne) {
  RocksDBFilterOptions options;
  options.payload_check = true;
  const PolicyPtr policy = NewRocksDBFilterPolicy(options);
  for (const std::string& filter : FiltersToRead(policy)) {
    SCOPED_TRACE(::testing::PrintToString(filter));
    const bool sound =
        internal::NewBitsReader(*policy, filter)->MayMatch("key");
    std::unique_ptr<rocksdb::FilterBitsReader> reader;
    bool failed = true;
    for (long number = 0; failed; ++number) {
      ASSERT_LT(number, 20);
      failed = FailsAt(
          number, [&] { reader = internal::NewBitsReader(*policy, filter); });
      EXPECT_TRUE(number > 0 || reader == nullptr);
      EXPECT_TRUE(reader == nullptr || reader->MayMatch("key") == sound);
    }
    EXPECT_NE(reader, nullptr);
  }
}

// Lookups have nothing that could fail.
TEST(ReaderOutOfMemoryTest, LookupsTakeNoMemory) {
  for (const std::string& layout : LayoutNames()) {
    const PolicyPtr policy = PolicyFromString("deltabloom:10:" + layout);
    const auto builder = internal::NewBitsBuilder(*policy);
    for (int i = 0; i < 2000; ++i) builder->AddKey(Key(i));
    std::unique_ptr<const char[]> owner;
    const auto reader =
        internal::NewBitsReader(*policy, builder->Finish(&owner));
    std::vector<std::string> keys;
    for (int i = 0; i < 32; ++i) keys.push_back(Key(i));
    std::vector<Slice> slices(keys.begin(), keys.end());
    std::vector<Slice*> pointers;
    for (Slice& slice : slices) pointers.push_back(&slice);
    bool answers[32] = {};
    bool single = false;
    EXPECT_FALSE(FailsAt(0, [&] {
      single = reader->MayMatch(slices[0]);
      reader->MayMatch(32, pointers.data(), answers);
    }));
    EXPECT_TRUE(single);
    for (const bool answer : answers) EXPECT_TRUE(answer);
  }
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
