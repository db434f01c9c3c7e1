// No range that holds a key is ever answered with no, whatever the keys, and
// the answers are those of a slow reader made after docs/format.md.

#include <map>

#include "tests/random.h"
#include "tests/range/subject.h"
#include "tests/reference/reference.h"
#include "util/range/range_part.h"

namespace deltabloom::test {
namespace {

using internal::RangePart;

class RangeProperty : public testing::Test {
 protected:
  FreshRandom random_;
};

std::vector<internal::range::Cut> RandomCuts(const KeyKind& kind,
                                             Random* random) {
  std::vector<internal::range::Cut> cuts(1 + random->Below(4));
  for (auto& cut : cuts) {
    const std::string key = kind.key(random);
    if (random->Below(2) == 0 && !key.empty()) {
      cut.byte = static_cast<uint8_t>(key[random->Below(key.size())]);
      cut.count = static_cast<uint8_t>(1 + random->Below(3));
    } else {
      cut.bits = static_cast<uint16_t>(1 + random->Below(100));
    }
  }
  return cuts;
}

// Checks what the part says of all keys from the bound on, and of all below it.
// Parts of numbers know both exactly.
void CheckEnds(const RangePart& range, const std::vector<std::string>& keys,
               const std::string& bound) {
  const bool any_from = bound <= keys.back();
  const bool any_below = keys.front() < bound;
  EXPECT_TRUE(range.MayMatch(bound, std::nullopt) || !any_from);
  EXPECT_TRUE(any_from || !range.HasKeyFrom(bound));
  EXPECT_TRUE(any_below || !range.HasKeyBelow(bound));
  if (range.Describe().substr(0, 7) != "numbers") return;
  EXPECT_EQ(range.MayMatch(bound, std::nullopt), any_from);
  EXPECT_EQ(range.HasKeyFrom(bound), any_from);
  EXPECT_EQ(range.HasKeyBelow(bound), any_below);
}

// Returns how many of the empty ranges were answered with no.
uint64_t CheckAnswers(const KeySet& set, const KeyKind& kind, double bits,
                      Random* random) {
  const std::vector<std::string> keys(set.begin(), set.end());
  // Learned from ranges of the same kind or from none.
  Samples samples;
  for (uint64_t n = 64 * random->Below(3); n > 0; --n) {
    samples.push_back(RangeNear(keys, kind, random));
  }
  const bool fixed = random->Below(4) == 0;
  const std::string part = PartOf(
      set, bits, samples,
      fixed ? RandomCuts(kind, random) : std::vector<internal::range::Cut>());
  const RangePart range(part);
  EXPECT_LE(part.size(), internal::MaxRangePartSize(keys.size(), bits));
  // Long keys can be too few to have a part.
  if (bits >= 4 && keys.size() >= 1000 && !fixed) {
    EXPECT_FALSE(range.AlwaysMatches()) << kind.name << ", " << bits;
  }
  // Each key alone between bounds as near as there are.
  for (const std::string& key : keys) {
    EXPECT_TRUE(range.MayMatch(key, key + '\0') &&
                range.MayMatch("", key + '\0') &&
                range.MayMatch(key, std::string(400, '\xff')))
        << testing::PrintToString(key) << " " << range.Describe();
  }
  EXPECT_EQ(range.HasKeyFrom(""), !range.AlwaysMatches());
  const bool compare = !part.empty() && keys.size() <= 300;
  std::unique_ptr<reference::Range> slow;
  if (compare) slow = std::make_unique<reference::Range>(part);
  uint64_t no = 0;
  for (int i = 0; i < 300; ++i) {
    const auto [lower, upper] = RangeNear(keys, kind, random);
    SCOPED_TRACE(testing::Message()
                 << kind.name << ", " << bits << " bits, " << keys.size()
                 << " keys: " << range.Describe() << " "
                 << testing::PrintToString(lower) << " "
                 << testing::PrintToString(upper));
    const bool may_match = range.MayMatch(lower, upper);
    EXPECT_TRUE(may_match || !(AnyKeyIn(set, lower, upper) || lower == upper));
    if (compare && i < 100) {
      EXPECT_EQ(may_match, slow->MayMatch(lower, upper));
    }
    no += may_match ? 0 : 1;
    EXPECT_TRUE(range.MayMatch(upper, lower));
    CheckEnds(range, keys, lower);
  }
  for (const std::string& key : {keys.front(), keys.back()}) {
    CheckEnds(range, keys, key);
    CheckEnds(range, keys, key + '\0');
  }
  return no;
}

TEST_F(RangeProperty, NoKeyIsLost) {
  for (const KeyKind& kind : KeyKinds()) {
    uint64_t no = 0;
    for (const double bits : {2.5, 4.0, 7.3, 10.0, 16.0, 24.0, 40.0, 100.0}) {
      for (const unsigned n : {1u, 2u, 3u, 30u, 300u, 3000u}) {
        KeySet keys;
        for (unsigned i = 0; i < n; ++i) keys.insert(kind.key(&random_));
        no += CheckAnswers(keys, kind, bits, &random_);
        if (HasFailure()) return;
      }
    }
    EXPECT_GT(no, 0) << kind.name;
  }
}

// Looks up ranges as RocksDB does, in the partition that the lower bound
// belongs to.
TEST_F(RangeProperty, Partitions) {
  for (const KeyKind& kind : KeyKinds()) {
    KeySet set;
    for (int i = 0; i < 2000; ++i) set.insert(kind.key(&random_));
    const std::vector<std::string> keys(set.begin(), set.end());
    internal::RangePartBuilder builder(10);
    for (int i = 0; i < 99; ++i) {
      const auto [lower, upper] = RangeNear(keys, kind, &random_);
      builder.AddSample(lower, upper);
    }
    std::map<std::string, std::string> parts;  // by last key
    for (const std::string& key : keys) {
      builder.AddKey(key);
      if (random_.Below(300) == 0 || key == keys.back()) {
        builder.Finish(&parts[key]);
      }
    }
    int no = 0;
    for (int i = 0; i < 20'000; ++i) {
      const auto [lower, upper] = RangeNear(keys, kind, &random_);
      const auto part = parts.lower_bound(lower);
      if (part == parts.end()) continue;
      const RangePart range(part->second);
      if (range.MayMatch(lower, upper) || !range.HasKeyFrom(upper)) continue;
      ++no;
      ASSERT_FALSE(AnyKeyIn(set, lower, upper))
          << kind.name << ": " << range.Describe() << " "
          << testing::PrintToString(lower) << " "
          << testing::PrintToString(upper);
    }
    EXPECT_GT(no, 0) << kind.name;
  }
}

// Long ranges before the keys and after the last key.
TEST(RangeOutside, IsKnown) {
  for (const std::string tail : {"", "text"}) {
    KeySet keys;
    for (uint64_t i = 0; i < 1000; ++i) {
      keys.insert(BigEndian((9 << 20) + 3 * i) + tail);
    }
    if (!tail.empty()) keys.insert(BigEndian(9 << 20) + "t");
    const std::string part = PartOf(keys, 10);
    const RangePart range(part);
    EXPECT_FALSE(range.MayMatch("", BigEndian(9 << 20)));
    EXPECT_FALSE(range.MayMatch(BigEndian(10 << 20), "\xff"));
    EXPECT_TRUE(range.MayMatch("", "\xff"));
    EXPECT_TRUE(range.HasKeyFrom(BigEndian((9 << 20) + 2000)));
    EXPECT_FALSE(range.HasKeyFrom(BigEndian(10 << 20)));
    EXPECT_TRUE(range.HasKeyBelow(BigEndian(10 << 20)));
    EXPECT_FALSE(range.HasKeyBelow(BigEndian(9 << 20)));
    // The last key decides about ranges without an upper bound.
    EXPECT_FALSE(range.MayMatch(BigEndian(10 << 20), std::nullopt));
    EXPECT_TRUE(range.MayMatch(BigEndian((9 << 20) + 2990), std::nullopt));
    EXPECT_FALSE(range.MayMatch("\xff\xff", std::nullopt));
  }
}

}  // namespace
}  // namespace deltabloom::test
