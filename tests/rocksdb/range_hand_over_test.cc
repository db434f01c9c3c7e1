// What the extractor passes to a filter, and when (docs/design.md, "Ranges in
// RocksDB").
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engines/rocksdb/range/range_extractor.h"
#include "tests/rocksdb/seek_calls.h"

namespace deltabloom::internal {
namespace {

using rocksdb::Slice;

using RangeHandOverTest = SeekCalls;

TEST_F(RangeHandOverTest, EveryKeyHasTheEmptyPrefix) {
  EXPECT_STREQ(extractor_.Name(), "deltabloom.Range");
  EXPECT_EQ(extractor_.GetId(), "deltabloom.Range");
  EXPECT_EQ(extractor_.AsString(), "deltabloom.Range");
  for (const std::string& key :
       {std::string(), lower_, std::string(999, 'x')}) {
    EXPECT_TRUE(extractor_.InDomain(key));
    EXPECT_EQ(extractor_.Transform(key).size(), 0u);
    EXPECT_NE(extractor_.Transform(key).data(), nullptr);
  }
  size_t length = 0;
  EXPECT_FALSE(extractor_.FullLengthEnabled(&length));
}

TEST_F(RangeHandOverTest, ASeekHandsOverItsBounds) {
  const Slice prefix = Seek();
  Bounds bounds;
  ASSERT_TRUE(TakeBounds(prefix, &bounds));
  EXPECT_EQ(bounds.lower, "b");
  EXPECT_EQ(bounds.upper, "d");
  EXPECT_FALSE(TakeBounds(prefix, &bounds)) << "once for each question";
}

TEST_F(RangeHandOverTest, EveryPlaceIsAnother) {
  std::vector<const char*> places;
  for (int i = 0; i < 10000; ++i) {
    places.push_back(extractor_.Transform(lower_).data());
  }
  std::sort(places.begin(), places.end());
  EXPECT_EQ(std::unique(places.begin(), places.end()), places.end());
}

TEST_F(RangeHandOverTest, OnlyForThePrefixOfTheLowerBound) {
  for (const Slice& other :
       {Slice(""), Slice(), Slice(lower_.data(), 0), Slice(upper_.data(), 0)}) {
    Seek();
    EXPECT_FALSE(IsRange(other));
  }
  const Slice before = Seek();
  Seek();
  EXPECT_FALSE(IsRange(before)) << "of another seek";
  extractor_.InDomain(lower_);
  extractor_.Transform(lower_);
  extractor_.InDomain(upper_);
  EXPECT_FALSE(IsRange(extractor_.Transform(upper_))) << "of the upper bound";
  const Slice prefix = Seek();
  EXPECT_FALSE(IsRange({prefix.data(), 1})) << "no empty one";
}

TEST_F(RangeHandOverTest, AnyOtherCallDisarms) {
  Slice prefix = Seek();
  extractor_.InDomain(lower_);
  EXPECT_FALSE(IsRange(prefix));
  prefix = Seek();
  extractor_.Transform(lower_);
  EXPECT_FALSE(IsRange(prefix));
  prefix = Seek();
  EXPECT_FALSE(IsRange(""));  // Get("") between
  EXPECT_FALSE(IsRange(prefix));
}

TEST_F(RangeHandOverTest, OtherSequencesAreNoSeeks) {
  // Without an upper bound.
  extractor_.InDomain(lower_);
  EXPECT_FALSE(IsRange(extractor_.Transform(lower_)));
  // Transform without InDomain, as tailing iterators call it.
  Slice prefix = extractor_.Transform(lower_);
  extractor_.Transform(upper_);
  EXPECT_FALSE(IsRange(prefix));
  // InDomain of another key.
  prefix = extractor_.Transform(lower_);
  const std::string copy = upper_;
  extractor_.InDomain(copy);
  extractor_.Transform(upper_);
  EXPECT_FALSE(IsRange(prefix));
  // Twice, as before a seek.
  prefix = extractor_.Transform(lower_);
  extractor_.InDomain(upper_);
  extractor_.InDomain(upper_);
  extractor_.Transform(upper_);
  EXPECT_FALSE(IsRange(prefix));
}

// Two Gets without whole_key_filtering, or two Puts with a Bloom filter in the
// memtable, make the very calls of a seek; each asks for its own prefix before.
TEST_F(RangeHandOverTest, TwoGetsAreNoSeek) {
  extractor_.InDomain(lower_);
  EXPECT_FALSE(IsRange(extractor_.Transform(lower_)));
  extractor_.InDomain(upper_);
  EXPECT_FALSE(IsRange(extractor_.Transform(upper_)));
}

// A call from deeper in the stack than any of a seek's second one.
[[gnu::noinline]] void CallFromBeneath(const RangeExtractor& extractor,
                                       const std::string& key) {
  volatile char space[4096];
  space[0] = 1;
  extractor.InDomain(key);
  extractor.Transform(key);
  space[4095] = space[0];
}

// While a filter is read that is asked for a prefix, a Get or Put of something
// else in the same thread makes the calls of an upper bound.
TEST_F(RangeHandOverTest, NotFromBeneath) {
  extractor_.InDomain(lower_);
  const Slice prefix = extractor_.Transform(lower_);
  CallFromBeneath(extractor_, upper_);
  EXPECT_FALSE(IsRange(prefix));
}

TEST_F(RangeHandOverTest, BoundsOutOfOrderAreNone) {
  std::swap(lower_, upper_);
  EXPECT_FALSE(IsRange(Seek()));
  upper_ = lower_;
  EXPECT_FALSE(IsRange(Seek()));
  lower_ = "b";
  upper_ = std::string("b\0", 2);
  EXPECT_TRUE(IsRange(Seek()));
  lower_ = "\x7f";
  upper_ = "\x80";
  EXPECT_TRUE(IsRange(Seek())) << "bytes are unsigned";
}

TEST_F(RangeHandOverTest, NotOfAnUnknownOrOtherOrder) {
  RangeExtractor unknown;
  EXPECT_FALSE(IsRange(Seek(unknown)));
  unknown.Trust();
  EXPECT_TRUE(IsRange(Seek(unknown)));
  unknown.Distrust();
  EXPECT_FALSE(IsRange(Seek(unknown)));
  unknown.Trust();
  EXPECT_FALSE(IsRange(Seek(unknown))) << "for good";
}

TEST_F(RangeHandOverTest, NotOfTwoExtractors) {
  RangeExtractor other;
  other.Trust();
  const Slice prefix = extractor_.Transform(lower_);
  other.InDomain(upper_);
  other.Transform(upper_);
  EXPECT_FALSE(IsRange(prefix));
}

TEST_F(RangeHandOverTest, NotFromThreadToThread) {
  const Slice prefix = Seek();
  bool elsewhere = true;
  std::thread([&] { elsewhere = IsRange(prefix); }).join();
  EXPECT_FALSE(elsewhere);
  EXPECT_TRUE(IsRange(prefix));
}

TEST_F(RangeHandOverTest, KnowsItsOwn) {
  EXPECT_EQ(AsRangeExtractor(&extractor_), &extractor_);
  EXPECT_EQ(AsRangeExtractor(nullptr), nullptr);
  const std::unique_ptr<const rocksdb::SliceTransform> other(
      rocksdb::NewNoopTransform());
  EXPECT_EQ(AsRangeExtractor(other.get()), nullptr);
}

}  // namespace
}  // namespace deltabloom::internal
