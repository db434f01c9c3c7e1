// What is let through, against the theory of util/range/numbers.h, within five
// standard errors; the same at every run unless DELTABLOOM_SEED asks for
// others.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/range/subject.h"

namespace deltabloom::test {
namespace {

constexpr uint64_t kKeys = 50'000;
constexpr int kQuestions = 40'000;

class UniformKeys : public testing::Test {
 protected:
  void Build(double bits, uint64_t range_length) {
    Random random(SeedOr(7));
    keys_.clear();
    while (keys_.size() < kKeys) keys_.insert(random.Key(8));
    internal::RangePartBuilder builder(bits, range_length);
    for (const std::string& key : keys_) builder.AddKey(key);
    part_.clear();
    ASSERT_TRUE(builder.Finish(&part_));
    unit_ = static_cast<unsigned char>(part_[2 + 1 + 16 + 16]);
  }

  double Rate(uint64_t length) const {
    const internal::RangePart range(part_);
    Random random(SeedOr(8));
    int matches = 0;
    for (int asked = 0; asked < kQuestions;) {
      const uint64_t first = random.Next() >> 1;
      const std::string lower = BigEndian(first);
      const std::string upper = BigEndian(first + length);
      if (AnyKeyIn(keys_, lower, upper)) continue;
      ++asked;
      matches += range.MayMatch(lower, upper) ? 1 : 0;
    }
    return static_cast<double>(matches) / kQuestions;
  }

  double BitsPerKey() const {
    return static_cast<double>(part_.size()) * 8 / kKeys;
  }

  KeySet keys_;
  std::string part_;
  unsigned unit_ = 0;
};

double Error(double rate) { return std::sqrt(rate * (1 - rate) / kQuestions); }

// Grafite's bound: l / 2^(B - 2).
TEST_F(UniformKeys, NoMoreThanTheBound) {
  for (const double bits : {8.0, 12.0, 16.5}) {
    Build(bits, 1);
    EXPECT_EQ(unit_, 0u);
    for (const unsigned length : {1u, 4u, 16u, 64u, 1024u}) {
      const double bound = std::min(
          1.0, static_cast<double>(length) / std::exp2(BitsPerKey() - 2));
      // Directory and header take a part of the bits.
      EXPECT_LE(Rate(length), 1.2 * bound + 5 * Error(bound))
          << bits << " " << length;
    }
  }
}

// With a unit: (l / 2^unit + 1) / 2^(B - 2).
TEST_F(UniformKeys, UnitsServeLongerRanges) {
  Build(10, 1024);
  EXPECT_GT(unit_, 0u);
  for (const unsigned length : {1u, 64u, 1024u, 4096u}) {
    const double codes =
        static_cast<double>(length) / std::exp2(static_cast<double>(unit_)) + 1;
    const double bound = codes / std::exp2(BitsPerKey() - 2);
    EXPECT_LE(Rate(length), 1.2 * bound + 5 * Error(bound)) << length;
  }
}

// 18 bits per key, those of the keys' part included.
TEST_F(UniformKeys, EighteenBitsInAllForRangesOf1024) {
  Build(internal::RangeBitsPerKey(18), 1024);
  const double rate = Rate(1024);
  EXPECT_LT(rate, 0.05);
}

TEST(RangeShare, CountsEveryBitOnce) {
  for (const double bits : {6.0, 10.0, 18.0, 24.5}) {
    EXPECT_DOUBLE_EQ(
        internal::RangeBitsPerKey(bits) + internal::PointBitsPerKey(bits),
        bits);
    EXPECT_GT(internal::PointBitsPerKey(bits), 1);
  }
}

// Texts: .38, .086, .024 and .002 when this was written.
TEST(RangeRate, TextsGainFromEachBit) {
  Random random(SeedOr(9));
  KeySet keys, absent;
  const auto draw = [&] {
    return FromBytes(&random, 1 + random.Below(20), "abcdefgh/");
  };
  while (keys.size() < 20'000) keys.insert("https://" + draw());
  while (absent.size() < 20'000) {
    const std::string text = "https://" + draw();
    if (!AnyKeyIn(keys, text, text + '\xff')) absent.insert(text);
  }
  struct Expected {
    double bits, rate;
  };
  for (const Expected expected :
       {Expected{6, .5}, {10, .13}, {14, .05}, {18, .01}}) {
    const std::string part = PartOf(keys, expected.bits);
    const internal::RangePart range(part);
    int matches = 0;
    for (const std::string& text : absent) {
      matches += range.MayMatch(text, text + '\xff') ? 1 : 0;
    }
    EXPECT_LT(matches / static_cast<double>(absent.size()), expected.rate)
        << expected.bits;
  }
}

}  // namespace
}  // namespace deltabloom::test
