// No range that holds a key is ever answered with no, whatever the keys.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/random.h"
#include "tests/range/subject.h"
#include "util/range/range_part.h"

namespace deltabloom::test {
namespace {

using internal::RangePart;

constexpr double kBits[] = {2.5, 4, 7.3, 10, 16, 24, 40, 100};

// Returns how many of the empty ranges were answered with no.
uint64_t CheckAnswers(const KeySet& set, const KeyKind& kind, double bits,
                      Random* random) {
  const std::vector<std::string> keys(set.begin(), set.end());
  // Learned from ranges of the same kind or from none, seeded or not.
  Questions questions;
  for (uint64_t n = 64 * random->Below(3); n > 0; --n) {
    questions.push_back(RangeNear(keys, kind, random));
  }
  const internal::SipHashKey seed{random->Next(), random->Next()};
  const bool seeded = random->Below(2) == 0;
  const std::string part =
      PartOf(set, bits, questions, seeded ? &seed : nullptr);
  const RangePart range(part, seeded ? &seed : nullptr);
  // Long keys can be too few to have a part at all.
  if (bits >= 4 && keys.size() >= 300) {
    EXPECT_FALSE(range.AlwaysMatches()) << kind.name << ", " << bits;
  }
  uint64_t no = 0;
  for (int i = 0; i < 300; ++i) {
    const auto [lower, upper] = RangeNear(keys, kind, random);
    const bool may_match = range.MayMatch(lower, upper);
    if (AnyKeyIn(set, lower, upper) || lower == upper) {
      EXPECT_TRUE(may_match)
          << kind.name << ", " << bits << " bits, " << keys.size()
          << " keys: " << range.Describe() << testing::PrintToString(lower)
          << " " << testing::PrintToString(upper);
    }
    no += may_match ? 0 : 1;
    EXPECT_EQ(range.MayMatch(upper, lower), true);
    const bool has_key_from = range.HasKeyFrom(lower);
    if (has_key_from) {
      EXPECT_LE(lower, keys.back()) << kind.name;
    }
  }
  return no;
}

TEST(RangeProperty, NoKeyIsLost) {
  const uint64_t seed = SeedOfThisRun();
  SCOPED_TRACE("DELTABLOOM_SEED=" + std::to_string(seed));
  Random random(seed);
  for (const KeyKind& kind : KeyKinds()) {
    uint64_t no = 0;
    for (const double bits : kBits) {
      for (const unsigned n : {1u, 2u, 3u, 30u, 300u, 3000u}) {
        KeySet keys;
        for (unsigned i = 0; i < n; ++i) keys.insert(kind.key(&random));
        no += CheckAnswers(keys, kind, bits, &random);
        if (testing::Test::HasFailure()) return;
      }
    }
    EXPECT_GT(no, 0) << kind.name;
  }
}

// Each key alone between bounds as near as there are.
TEST(RangeProperty, EveryKeyIsFound) {
  const uint64_t seed = SeedOfThisRun();
  SCOPED_TRACE("DELTABLOOM_SEED=" + std::to_string(seed));
  Random random(seed);
  for (const KeyKind& kind : KeyKinds()) {
    KeySet keys;
    for (int i = 0; i < 20000; ++i) keys.insert(kind.key(&random));
    for (const double bits : {4.0, 12.0}) {
      const std::string part = PartOf(keys, bits);
      const RangePart range(part);
      ASSERT_FALSE(range.AlwaysMatches());
      for (const std::string& key : keys) {
        ASSERT_TRUE(range.MayMatch(key, key + '\0'))
            << kind.name << " " << testing::PrintToString(key);
        ASSERT_TRUE(range.MayMatch("", key + '\0')) << kind.name;
        ASSERT_TRUE(range.MayMatch(key, std::string(400, '\xff'))) << kind.name;
      }
      EXPECT_TRUE(range.HasKeyFrom(""));
      EXPECT_FALSE(range.HasKeyFrom(*keys.rbegin() + '\0'));
    }
  }
}

// Long ranges before the keys and after the last key.
TEST(RangeProperty, WhatIsOutsideIsKnown) {
  KeySet keys;
  for (uint64_t i = 0; i < 1000; ++i) keys.insert(BigEndian((9 << 20) + 3 * i));
  for (const char* tail : {"", "text"}) {
    KeySet of_this_shape;
    for (const std::string& key : keys) of_this_shape.insert(key + tail);
    if (*tail != '\0') of_this_shape.insert(*keys.begin() + "t");
    const std::string part = PartOf(of_this_shape, 10);
    const RangePart range(part);
    // Prefixes do not know the first key.
    EXPECT_EQ(range.MayMatch("", BigEndian(9 << 20)), *tail != '\0');
    EXPECT_FALSE(range.MayMatch(BigEndian(10 << 20), "\xff"));
    EXPECT_TRUE(range.MayMatch("", "\xff"));
    EXPECT_TRUE(range.HasKeyFrom(BigEndian((9 << 20) + 2000)));
    EXPECT_FALSE(range.HasKeyFrom(BigEndian(10 << 20)));
  }
}

}  // namespace
}  // namespace deltabloom::test
