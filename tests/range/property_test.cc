// No range that holds a key is ever answered with no, whatever the keys, and
// the answers are those of a slow reader made after docs/format.md.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/random.h"
#include "tests/range/subject.h"
#include "tests/reference/reference.h"
#include "util/range/cut.h"
#include "util/range/filter.h"
#include "util/range/filter_builder.h"

namespace deltabloom::test {
namespace {

using internal::range::Filter;

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

// Checks what the filter says of all keys from the bound on, which filters of
// numbers know exactly.
void CheckEnds(const Filter& filter, const std::vector<std::string>& keys,
               const std::string& bound) {
  const bool any_from = bound <= keys.back();
  EXPECT_TRUE(filter.MayMatch(bound, std::nullopt) || !any_from);
  EXPECT_TRUE(any_from || !filter.HasKeyFrom(bound));
  if (filter.Describe().substr(0, 7) != "numbers") return;
  EXPECT_EQ(filter.MayMatch(bound, std::nullopt), any_from);
  EXPECT_EQ(filter.HasKeyFrom(bound), any_from);
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
  const std::string bytes = FilterOf(
      set, bits, samples,
      fixed ? RandomCuts(kind, random) : std::vector<internal::range::Cut>());
  const Filter filter(bytes);
  EXPECT_LE(bytes.size(), internal::range::MaxFilterSize(keys.size(), bits));
  // Long keys can be too few to have a filter.
  if (bits >= 4 && keys.size() >= 1000 && !fixed) {
    EXPECT_FALSE(filter.AlwaysMatches()) << kind.name << ", " << bits;
  }
  // Each key alone between bounds as near as there are.
  for (const std::string& key : keys) {
    EXPECT_TRUE(filter.MayMatch(key, key + '\0') &&
                filter.MayMatch("", key + '\0') &&
                filter.MayMatch(key, std::string(400, '\xff')))
        << testing::PrintToString(key) << " " << filter.Describe();
  }
  EXPECT_EQ(filter.HasKeyFrom(""), !filter.AlwaysMatches());
  const bool compare = !bytes.empty() && keys.size() <= 300;
  std::unique_ptr<reference::RangeFilter> slow;
  if (compare) slow = std::make_unique<reference::RangeFilter>(bytes);
  uint64_t no = 0;
  for (int i = 0; i < 300; ++i) {
    const auto [lower, upper] = RangeNear(keys, kind, random);
    SCOPED_TRACE(testing::Message()
                 << kind.name << ", " << bits << " bits, " << keys.size()
                 << " keys: " << filter.Describe() << " "
                 << testing::PrintToString(lower) << " "
                 << testing::PrintToString(upper));
    const bool may_match = filter.MayMatch(lower, upper);
    EXPECT_TRUE(may_match || !(AnyKeyIn(set, lower, upper) || lower == upper));
    if (compare && i < 100) {
      EXPECT_EQ(may_match, slow->MayMatch(lower, upper));
    }
    no += may_match ? 0 : 1;
    EXPECT_TRUE(filter.MayMatch(upper, lower));
    CheckEnds(filter, keys, lower);
  }
  for (const std::string& key : {keys.front(), keys.back()}) {
    CheckEnds(filter, keys, key);
    CheckEnds(filter, keys, key + '\0');
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

// Long ranges before the keys and after the last key.
TEST(RangeOutside, IsKnown) {
  for (const std::string tail : {"", "text"}) {
    KeySet keys;
    for (uint64_t i = 0; i < 1000; ++i) {
      keys.insert(BigEndian((9 << 20) + 3 * i) + tail);
    }
    if (!tail.empty()) keys.insert(BigEndian(9 << 20) + "t");
    const std::string bytes = FilterOf(keys, 10);
    const Filter filter(bytes);
    EXPECT_FALSE(filter.MayMatch("", BigEndian(9 << 20)));
    EXPECT_FALSE(filter.MayMatch(BigEndian(10 << 20), "\xff"));
    EXPECT_TRUE(filter.MayMatch("", "\xff"));
    EXPECT_TRUE(filter.HasKeyFrom(BigEndian((9 << 20) + 2000)));
    EXPECT_FALSE(filter.HasKeyFrom(BigEndian(10 << 20)));
    // The last key decides about ranges without an upper bound.
    EXPECT_FALSE(filter.MayMatch(BigEndian(10 << 20), std::nullopt));
    EXPECT_TRUE(filter.MayMatch(BigEndian((9 << 20) + 2990), std::nullopt));
    EXPECT_FALSE(filter.MayMatch("\xff\xff", std::nullopt));
  }
}

}  // namespace
}  // namespace deltabloom::test
