// The range part of a filter, from a builder to a reader.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "engines/rocksdb/policy/bits_builder.h"
#include "engines/rocksdb/policy/bits_reader.h"
#include "tests/random.h"
#include "tests/rocksdb/seek_calls.h"

namespace deltabloom::internal {
namespace {

using rocksdb::Slice;

// A filter that a builder made of keys and the prefixes beside them.
class RangeFilterTest : public SeekCalls {
 protected:
  static BuilderSettings Settings() {
    BuilderSettings settings;
    settings.layout = FindLayout(Layout::kLocal, Hash::kMurmurHash2, -1);
    settings.millibits_per_key = 30'000;
    settings.range = true;
    return settings;
  }

  static std::string Number(uint64_t number) {
    std::string key(8, '\0');
    for (int i = 7; i >= 0; --i, number >>= 8) {
      key[static_cast<size_t>(i)] = static_cast<char>(number);
    }
    return key;
  }

  void Build(const std::vector<std::string>& keys, bool prefixes = true,
             BuilderSettings settings = Settings()) {
    BitsBuilder builder(settings);
    for (const std::string& key : keys) {
      if (prefixes && pairs_) {
        builder.AddKeyAndAlt(key, Slice());
      } else {
        builder.AddKey(key);
        if (prefixes && &key == &keys.front()) builder.AddKey(Slice());
      }
    }
    planned_ = builder.CalculateSpace(keys.size());
    filter_ = builder.Finish(&owner_);
    settings.statistics = std::make_shared<PolicyStatistics>();
    ReaderSettings reading;
    reading.range = true;
    reading.statistics = settings.statistics;
    reader_.reset(NewSealedBitsReader(filter_, reading));
  }

  bool HasRangePart() const {
    return !RangePartOf(filter_.ToStringView()).empty();
  }

  bool MayMatch(const std::string& lower, const std::string& upper) {
    lower_ = lower;
    upper_ = upper;
    return reader_->MayMatch(Seek());
  }

  static uint64_t Nth(uint64_t i) {
    return (i << 40) + test::Random(i).Below(uint64_t{1} << 39);
  }

  static std::vector<std::string> Numbers() {
    std::vector<std::string> keys;
    for (uint64_t i = 1; i <= 1000; ++i) keys.push_back(Number(Nth(i)));
    return keys;
  }

  bool pairs_ = false;
  size_t planned_ = 0;
  Slice filter_;
  std::unique_ptr<const char[]> owner_;
  std::unique_ptr<rocksdb::FilterBitsReader> reader_;
};

TEST_F(RangeFilterTest, AnswersRangesAndKeys) {
  for (const bool pairs : {false, true}) {
    pairs_ = pairs;
    Build(Numbers());
    ASSERT_TRUE(HasRangePart());
    int negatives = 0;
    for (uint64_t i = 1; i <= 1000; ++i) {
      const uint64_t key = Nth(i);
      EXPECT_TRUE(MayMatch(Number(key), Number(key + 1)));
      EXPECT_TRUE(MayMatch(Number(key - 5), Number(key + 5)));
      EXPECT_TRUE(reader_->MayMatch(Number(key)));
      if (!MayMatch(Number(key + 1), Number(key + 1000))) ++negatives;
    }
    EXPECT_GT(negatives, 900);
    EXPECT_FALSE(reader_->MayMatch(Number(77)) &&
                 reader_->MayMatch(Number(78)) &&
                 reader_->MayMatch(Number(79)));
  }
}

TEST_F(RangeFilterTest, TheEmptyKeyIsThere) {
  Build(Numbers());
  EXPECT_TRUE(MayMatch("", Number(1)));
  EXPECT_TRUE(MayMatch("", std::string(1, '\0')));
  EXPECT_TRUE(reader_->MayMatch(Slice("")));
}

TEST_F(RangeFilterTest, SaysNothingOfWhatMayBeInTheNextPartition) {
  Build(Numbers());
  const uint64_t last = Nth(1000);
  EXPECT_TRUE(MayMatch(Number(last + 1), Number(last + 2)));
  EXPECT_TRUE(MayMatch(Number(last + (uint64_t{1} << 50)), "\xff"));
}

TEST_F(RangeFilterTest, BatchesAreOfKeys) {
  Build(Numbers());
  lower_ = Number(5);
  upper_ = Number(6);
  Slice prefix = Seek();
  Slice* keys[1] = {&prefix};
  bool may_match[1] = {false};
  reader_->MayMatch(1, keys, may_match);
  EXPECT_TRUE(may_match[0]) << "the empty prefix is a key of the filter";
}

TEST_F(RangeFilterTest, NoRangePartUnlessKeysAscend) {
  std::vector<std::string> keys = Numbers();
  std::swap(keys[500], keys[501]);
  Build(keys);
  EXPECT_FALSE(HasRangePart());
  for (const std::string& key : keys) EXPECT_TRUE(reader_->MayMatch(key));
  EXPECT_TRUE(MayMatch(Number(1), Number(2)));
  keys = Numbers();
  std::reverse(keys.begin(), keys.end());
  Build(keys);
  EXPECT_FALSE(HasRangePart());
}

TEST_F(RangeFilterTest, NoRangePartWithoutTheExtractor) {
  Build(Numbers(), /*prefixes=*/false);
  EXPECT_FALSE(HasRangePart());
  EXPECT_GT(filter_.size() * 8, 1000u * 29) << "all bits go to the keys";
}

TEST_F(RangeFilterTest, NoRangePartOfPrefixesAlone) {
  Build({"", "", ""}, /*prefixes=*/false);
  EXPECT_FALSE(HasRangePart());
  EXPECT_TRUE(MayMatch("a", "b"));
}

TEST_F(RangeFilterTest, NoRangePartWithPrefixesOfOthers) {
  const std::string keys[] = {"aa1", "ab1", "ac1", "ad1"};
  for (const bool pairs : {false, true}) {
    BitsBuilder builder(Settings());
    for (const std::string& key : keys) {
      const Slice prefix(key.data(), 2);
      if (pairs) {
        builder.AddKeyAndAlt(key, prefix);
      } else {
        builder.AddKey(key);
        builder.AddKey(prefix);
      }
    }
    filter_ = builder.Finish(&owner_);
    EXPECT_FALSE(HasRangePart());
  }
}

TEST_F(RangeFilterTest, EqualKeysComeOnce) {
  std::vector<std::string> keys;
  for (const std::string& key : Numbers()) keys.insert(keys.end(), 3, key);
  Build(keys);
  const Slice once = filter_;
  ASSERT_TRUE(HasRangePart());
  EXPECT_LT(once.size() * 8, 1000u * 31 + 8 * 200);
}

// bits_per_key are those of both parts, and so are the sizes planned.
TEST_F(RangeFilterTest, SizesCountBothParts) {
  Build(Numbers());
  EXPECT_GT(filter_.size() * 8, 1000u * 27);
  EXPECT_LT(filter_.size() * 8, 1000u * 30 + 8 * 256);
  EXPECT_GE(planned_ + 64, filter_.size());
  EXPECT_LT(planned_, filter_.size() + filter_.size() / 4);
  BitsBuilder builder(Settings());
  const size_t keys = builder.ApproximateNumEntries(filter_.size() + 256);
  EXPECT_GT(keys, 900u);
  EXPECT_LT(keys, 1150u);
}

TEST_F(RangeFilterTest, LimitsTakeTheRangePartFirst) {
  BuilderSettings settings = Settings();
  settings.max_filter_bytes = 3000;
  Build(Numbers(), true, settings);
  EXPECT_FALSE(HasRangePart());
  EXPECT_LE(filter_.size(), 3000u);
  settings = Settings();
  settings.max_build_bytes = 9000;  // as much as the hashes take
  Build(Numbers(), true, settings);
  EXPECT_FALSE(HasRangePart());
  for (const std::string& key : Numbers()) EXPECT_TRUE(reader_->MayMatch(key));
}

TEST_F(RangeFilterTest, FewBitsGoToTheKeys) {
  BuilderSettings settings = Settings();
  settings.millibits_per_key = 5'900;
  Build(Numbers(), true, settings);
  EXPECT_FALSE(HasRangePart());
}

TEST_F(RangeFilterTest, SeededAndChecked) {
  BuilderSettings settings = Settings();
  HashedKeys keys;
  keys.seeded = true;
  settings.mapping = KeyMapping(nullptr, keys);
  settings.seal.payload_check = true;
  Build(Numbers(), true, settings);
  ASSERT_TRUE(HasRangePart());
  EXPECT_FALSE(MayMatch(Number(5), Number(6)));
  for (const std::string& key : Numbers()) EXPECT_TRUE(reader_->MayMatch(key));
}

TEST_F(RangeFilterTest, ReadersWithoutRangesDoNotAsk) {
  Build(Numbers());
  ASSERT_FALSE(MayMatch(Number(5), Number(6)));
  reader_.reset(NewSealedBitsReader(filter_, {}));
  EXPECT_TRUE(MayMatch(Number(5), Number(6)));
}

TEST_F(RangeFilterTest, ABuilderFinishesManyTimes) {
  BitsBuilder builder(Settings());
  for (int part = 0; part < 3; ++part) {
    for (const std::string& key : Numbers()) {
      builder.AddKey(key);
      builder.AddKey(Slice());
    }
    filter_ = builder.Finish(&owner_);
    EXPECT_TRUE(HasRangePart());
    EXPECT_TRUE(builder.MaybePostVerify(filter_).ok());
  }
}

TEST_F(RangeFilterTest, AChangedRangePartIsFound) {
  BuilderSettings settings = Settings();
  settings.detect_corruption = true;
  BitsBuilder builder(settings);
  for (const std::string& key : Numbers()) {
    builder.AddKey(key);
    builder.AddKey(Slice());
  }
  filter_ = builder.Finish(&owner_);
  const std::string_view part = RangePartOf(filter_.ToStringView());
  ASSERT_FALSE(part.empty());
  const_cast<char&>(part[part.size() / 2]) ^= 1;
  EXPECT_TRUE(builder.MaybePostVerify(filter_).IsCorruption());
}

}  // namespace
}  // namespace deltabloom::internal
