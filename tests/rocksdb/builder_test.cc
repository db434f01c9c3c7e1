// The builder alone, without a database.
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "engines/rocksdb/policy/bits_builder.h"
#include "engines/rocksdb/policy/bits_reader.h"
#include "engines/rocksdb/policy/filter_size.h"
#include "rocksdb/env.h"
#include "table/framing.h"
#include "tests/rocksdb/test_db.h"
#include "util/rates/layout_rates.h"

namespace deltabloom::testing {
namespace {

using internal::BitsBuilder;
using internal::BuilderSettings;
using internal::FilterKind;
using internal::LayoutRow;
using rocksdb::FilterBitsReader;
using rocksdb::Slice;
using rocksdb::Status;

class BuilderTest : public ::testing::TestWithParam<std::string> {
 protected:
  static BuilderSettings Settings() {
    BuilderSettings settings;
    settings.layout = internal::FindLayoutOfName(GetParam());
    settings.millibits_per_key = 10000;
    settings.seal.level_at_creation = 3;
    return settings;
  }

  static void AddKeys(BitsBuilder* builder, int begin, int end) {
    for (int i = begin; i < end; ++i) builder->AddKey(Key(2 * i));
  }

  // Absent keys that match; fails if an added one does not.
  static int FalsePositives(const Slice& filter, int begin, int end) {
    const std::unique_ptr<FilterBitsReader> reader(
        internal::NewSealedBitsReader(filter, {}));
    int positives = 0;
    for (int i = begin; i < end; ++i) {
      EXPECT_TRUE(reader->MayMatch(Key(2 * i))) << i;
      positives += reader->MayMatch(Key(2 * i + 1));
    }
    return positives;
  }

  // As the layout tells it.
  static double RateOf(const Slice& filter, uint64_t keys) {
    internal::ParsedFilter parsed;
    EXPECT_EQ(internal::ParseSealed({filter.data(), filter.size()},
                                    internal::ActiveCpu(), &parsed, nullptr),
              FilterKind::kFilter);
    const LayoutRow* row = internal::FindLayoutOfLastByte(
        static_cast<uint8_t>(filter[filter.size() - 1]), Hash::kMurmurHash2);
    return row->rate(parsed.shape, keys);
  }

  std::unique_ptr<const char[]> owner_;
};

INSTANTIATE_TEST_SUITE_P(Layouts, BuilderTest,
                         ::testing::ValuesIn(LayoutNames()));

TEST_P(BuilderTest, OneObjectFinishesManyPartitions) {
  BitsBuilder builder(Settings());
  int begin = 0;
  for (const int size : {1000, 1, 0, 5000, 2}) {
    AddKeys(&builder, begin, begin + size);
    EXPECT_EQ(builder.EstimateEntriesAdded(), static_cast<size_t>(size));
    Status status = Status::Aborted();
    const Slice filter = builder.Finish(&owner_, &status);
    ASSERT_ROCKSDB_OK(status);
    ASSERT_ROCKSDB_OK(builder.MaybePostVerify(filter));
    EXPECT_EQ(builder.EstimateEntriesAdded(), 0u);
    EXPECT_EQ(filter.data(), owner_.get());
    // Of 10 bits per key; a layout with a floor is allowed it.
    EXPECT_LE(filter.size(), static_cast<size_t>(size) * 10 / 8 + 300);
    // 1 % expected.
    EXPECT_LE(FalsePositives(filter, begin, begin + size), size / 20 + 1);
    // Keys of the filter before must be gone.
    const std::unique_ptr<FilterBitsReader> reader(
        internal::NewSealedBitsReader(filter, {}));
    int left = 0;
    for (int i = 0; i < begin; ++i) left += reader->MayMatch(Key(2 * i));
    EXPECT_LE(left, begin / 20);
    begin += size;
  }
}

// Every size that the builder tells counts the optional field.
TEST_P(BuilderTest, PayloadCheckTakesEightBytesAndSeesAFlippedBit) {
  BuilderSettings plain = Settings();
  BuilderSettings checked = Settings();
  checked.seal.payload_check = true;
  size_t sizes[2] = {};
  for (bool check : {false, true}) {
    BitsBuilder builder(check ? checked : plain);
    for (int i = 0; i < 1000; ++i) builder.AddKey(Key(2 * i));
    const Slice filter = builder.Finish(&owner_);
    sizes[check ? 1 : 0] = filter.size();
    EXPECT_EQ(builder.CalculateSpace(1000), filter.size());
    EXPECT_GE(builder.ApproximateNumEntries(filter.size()), 1000u);
    EXPECT_LT(builder.ApproximateNumEntries(filter.size() - 1), 1000u);
    EXPECT_TRUE(builder.MaybePostVerify(filter).ok());
    std::string flipped = filter.ToString();
    flipped[100] = static_cast<char>(flipped[100] ^ 1);
    const std::unique_ptr<FilterBitsReader> reader(
        internal::NewSealedBitsReader(flipped, {}));
    int matches = 0;
    for (int i = 0; i < 1000; ++i) matches += reader->MayMatch(Key(2 * i + 1));
    EXPECT_EQ(matches == 1000, check);
  }
  EXPECT_EQ(sizes[1], sizes[0] + 8);
}

TEST_P(BuilderTest, WithoutKeysMatchesNothing) {
  BitsBuilder builder(Settings());
  const Slice filter = builder.Finish(&owner_);
  EXPECT_EQ(filter.size(), internal::kSealedFramingSize);
  const std::unique_ptr<FilterBitsReader> reader(
      internal::NewSealedBitsReader(filter, {}));
  EXPECT_FALSE(reader->MayMatch("key"));
  EXPECT_FALSE(reader->MayMatch(""));
}

TEST_P(BuilderTest, SealsLevel) {
  for (const int level : {0, 3, 254, 255}) {
    BuilderSettings settings = Settings();
    settings.seal.level_at_creation = static_cast<uint8_t>(level);
    BitsBuilder builder(settings);
    builder.AddKey("key");
    const Slice filter = builder.Finish(&owner_);
    EXPECT_EQ(internal::SealedLevel({filter.data(), filter.size()}), level);
  }
}

TEST_P(BuilderTest, DropsAdjacentDuplicates) {
  BitsBuilder once(Settings());
  BitsBuilder repeated(Settings());
  for (int i = 0; i < 100; ++i) {
    once.AddKey(Key(i));
    for (int k = 0; k <= i % 4; ++k) repeated.AddKey(Key(i));
  }
  EXPECT_EQ(repeated.EstimateEntriesAdded(), 100u);
  std::unique_ptr<const char[]> other_owner;
  EXPECT_EQ(once.Finish(&owner_), repeated.Finish(&other_owner));
  // A repetition across Finish is a key of the next filter.
  repeated.AddKey(Key(99));
  EXPECT_EQ(repeated.EstimateEntriesAdded(), 1u);
}

// Call by call: what AddKeyAndAlt leaves out must be in through another call.
TEST_P(BuilderTest, AddKeyAndAltDropsNeighbours) {
  BitsBuilder builder(Settings());
  const auto entries = [&builder] { return builder.EstimateEntriesAdded(); };
  builder.AddKey("a");
  builder.AddKeyAndAlt("b", "a");  // the alt is the key before
  EXPECT_EQ(entries(), 2u);
  builder.AddKeyAndAlt("c", "c");  // each other
  EXPECT_EQ(entries(), 3u);
  builder.AddKeyAndAlt("ca", "c");  // the alt before
  EXPECT_EQ(entries(), 4u);
  builder.AddKeyAndAlt("ca", "d");  // the key before
  EXPECT_EQ(entries(), 5u);
  builder.AddKeyAndAlt("d", "e");  // the key is the alt before
  EXPECT_EQ(entries(), 6u);
  builder.AddKey("d");  // the key before
  EXPECT_EQ(entries(), 6u);
  builder.AddKey("e");  // not held against the alt before
  EXPECT_EQ(entries(), 7u);
  builder.AddKeyAndAlt("f", "g");
  EXPECT_EQ(entries(), 9u);
  const Slice filter = builder.Finish(&owner_);
  const std::unique_ptr<FilterBitsReader> reader(
      internal::NewSealedBitsReader(filter, {}));
  for (const char* key : {"a", "b", "c", "ca", "d", "e", "f", "g"}) {
    EXPECT_TRUE(reader->MayMatch(key)) << key;
  }
}

TEST_P(BuilderTest, KeysOfAnyBytesAndLength) {
  std::vector<std::string> keys = {"", std::string(1, '\0'),
                                   std::string(100'000, '\xff')};
  for (int byte = 0; byte < 256; ++byte) {
    for (size_t size = 1; size < 40; ++size) {
      keys.push_back(std::string(size, static_cast<char>(byte)));
    }
  }
  BitsBuilder builder(Settings());
  for (const std::string& key : keys) builder.AddKey(key);
  const Slice filter = builder.Finish(&owner_);
  const std::unique_ptr<FilterBitsReader> reader(
      internal::NewSealedBitsReader(filter, {}));
  for (const std::string& key : keys) EXPECT_TRUE(reader->MayMatch(key));
}

TEST_P(BuilderTest, ApproximateNumEntriesFits) {
  BitsBuilder builder(Settings());
  for (const size_t bytes :
       {0u, 1u, 15u, 16u, 17u, 100u, 512u, 4096u, 1u << 20}) {
    const size_t entries = builder.ApproximateNumEntries(bytes);
    if (entries > 0) {
      EXPECT_LE(builder.CalculateSpace(entries), bytes);
    }
    EXPECT_GT(builder.CalculateSpace(entries + 1), bytes);
  }
  // Sized right, not merely small.
  EXPECT_GT(builder.ApproximateNumEntries(4096), 3000u);
  // Above every size: still fits the 32 bits that RocksDB keeps.
  EXPECT_LE(builder.ApproximateNumEntries(~size_t{0}), 0xffffffffu);
  EXPECT_GT(builder.ApproximateNumEntries(~size_t{0}), 0x7fffffffu);
}

TEST_P(BuilderTest, ApproximateNumEntriesAtExtremeBitsPerKey) {
  for (const uint32_t millibits : {500u, 1'000'000u}) {
    BuilderSettings settings = Settings();
    settings.millibits_per_key = millibits;
    BitsBuilder builder(settings);
    const size_t entries = builder.ApproximateNumEntries(4096);
    EXPECT_GT(entries, 0u);
    EXPECT_LE(entries, 0xffffffffu);
  }
}

TEST_P(BuilderTest, EstimatedRateFallsWithBytes) {
  BitsBuilder builder(Settings());
  EXPECT_EQ(builder.EstimatedFpRate(0, 0), 0);
  EXPECT_EQ(builder.EstimatedFpRate(1, 16), 1);
  const LayoutRow* row = internal::FindLayoutOfName(GetParam());
  EXPECT_EQ(builder.EstimatedFpRate(1000, 1250 + 16),
            RateForMillibits(row, 1000, 10000));
  EXPECT_LT(builder.EstimatedFpRate(1000, 2000), 0.001);
  EXPECT_GT(builder.EstimatedFpRate(1000, 100), 0.5);
  EXPECT_LT(builder.EstimatedFpRate(1000, 1000000), 0.001);
}

// A builder in which a test can flip a bit of a hash.
class DamagedBuilder : public BitsBuilder {
 public:
  using BitsBuilder::BitsBuilder;
  void FlipHash() {
    const auto flip = [](const auto* hashes, size_t n) {
      auto& hash = const_cast<
          std::remove_const_t<std::remove_reference_t<decltype(*hashes)>>&>(
          hashes[n / 2]);
      hash ^= 0x100;
    };
    if (hashes_.hash_size() == 4) {
      hashes_.ForEachChunk<uint32_t>(flip);
    } else {
      hashes_.ForEachChunk<uint64_t>(flip);
    }
  }
};

TEST_P(BuilderTest, DetectsFlippedHash) {
  BuilderSettings settings = Settings();
  settings.detect_corruption = true;
  DamagedBuilder builder(settings);
  AddKeys(&builder, 0, 100);
  builder.FlipHash();
  Status status;
  const Slice filter = builder.Finish(&owner_, &status);
  EXPECT_TRUE(status.IsCorruption()) << status.ToString();
  // Whoever ignores the status loses nothing.
  FalsePositives(filter, 0, 100);

  // The next filter is sound again.
  AddKeys(&builder, 0, 100);
  const Slice sound = builder.Finish(&owner_, &status);
  ASSERT_ROCKSDB_OK(status);
  EXPECT_ROCKSDB_OK(builder.MaybePostVerify(sound));
}

TEST_P(BuilderTest, DetectsFlippedByte) {
  BuilderSettings settings = Settings();
  settings.detect_corruption = true;
  BitsBuilder builder(settings);
  AddKeys(&builder, 0, 1000);
  const Slice first = builder.Finish(&owner_);
  const std::string sound = first.ToString();
  EXPECT_ROCKSDB_OK(builder.MaybePostVerify(first));

  // In the payload, and in each byte of the trailer.
  std::vector<size_t> places = {sound.size() / 2};
  for (size_t i = 1; i <= internal::kSealedFramingSize; ++i) {
    places.push_back(sound.size() - i);
  }
  for (const size_t place : places) {
    AddKeys(&builder, 0, 1000);
    ASSERT_EQ(builder.Finish(&owner_).ToString(), sound);
    std::string damaged = sound;
    damaged[place] = static_cast<char>(~damaged[place]);
    EXPECT_TRUE(builder.MaybePostVerify(damaged).IsCorruption()) << place;
  }
}

TEST_P(BuilderTest, VerifiesEmptyFilter) {
  BuilderSettings settings = Settings();
  settings.detect_corruption = true;
  BitsBuilder builder(settings);
  const std::string empty = builder.Finish(&owner_).ToString();
  EXPECT_ROCKSDB_OK(builder.MaybePostVerify(empty));
  AddKeys(&builder, 0, 10);
  builder.Finish(&owner_);
  EXPECT_TRUE(builder.MaybePostVerify(empty).IsCorruption());
}

TEST_P(BuilderTest, RoundedSizesKeepTheirAverage) {
  BuilderSettings settings = Settings();
  settings.optimize_for_memory = true;
  BitsBuilder builder(settings);
  double rounded_rate = 0;
  double planned_rate = 0;
  int filters = 0;
  for (int keys = 500; keys < 5000; keys += 37, ++filters) {
    AddKeys(&builder, 0, keys);
    const Slice filter = builder.Finish(&owner_);
    rounded_rate += RateOf(filter, static_cast<uint64_t>(keys));
    planned_rate +=
        RateForMillibits(settings.layout, static_cast<uint64_t>(keys), 10000);
    EXPECT_LE(FalsePositives(filter, 0, keys), keys / 10);
  }
  EXPECT_NEAR(rounded_rate / filters, planned_rate / filters,
              0.02 * planned_rate / filters);
  EXPECT_NEAR(
      static_cast<double>(settings.tally->rounding_balance) / 4294967296.0,
      rounded_rate - planned_rate, 1e-6);
}

// A credit of false positives is spent on a smaller filter, a debt is not made
// larger; what the allocator adds depends on the allocator.
TEST_P(BuilderTest, BalanceDecidesTheSize) {
  const LayoutRow& layout = *internal::FindLayoutOfName(GetParam());
  const uint64_t planned = PlanFilter(&layout, 10'000, 10'000).payload_size;
  const auto size = [&](int64_t start) {
    const std::atomic<int64_t> balance{start};
    return internal::AllocateFilter(layout, 10'000, 10'000,
                                    internal::kSealedFramingSize, kUnlimited,
                                    &balance)
        .plan.payload_size;
  };
  EXPECT_EQ(internal::AllocateFilter(layout, 10'000, 10'000,
                                     internal::kSealedFramingSize, kUnlimited,
                                     nullptr)
                .plan.payload_size,
            planned);
  EXPECT_LT(size(-(int64_t{1} << 31)), planned * 7 / 8);
  EXPECT_GE(size(-(int64_t{1} << 31)), planned * 11 / 16);
  EXPECT_GE(size(0), planned);
  EXPECT_LE(size(0), planned * 4 / 3);
  EXPECT_GE(size(int64_t{1} << 31), planned);
}

TEST(FilterBufferTest, TakesTheRoomThatTheAllocatorGives) {
  const LayoutRow& classic = *internal::FindLayoutOfName("classic");
  constexpr uint64_t kBlockTrailerSize = 5;  // RocksDB's, behind the filter
  constexpr uint64_t kOverhead =
      internal::kSealedFramingSize + kBlockTrailerSize;
  for (uint64_t keys = 500; keys < 600; ++keys) {
    const uint64_t wanted =
        PlanFilter(&classic, keys, 10'000).payload_size + kOverhead;
    const std::unique_ptr<char[]> probe(new char[wanted]);
    const std::atomic<int64_t> balance{0};
    EXPECT_EQ(internal::AllocateFilter(classic, keys, 10'000,
                                       internal::kSealedFramingSize, kUnlimited,
                                       &balance)
                  .plan.payload_size,
              malloc_usable_size(probe.get()) - kOverhead)
        << keys;
  }
}

}  // namespace
}  // namespace deltabloom::testing
