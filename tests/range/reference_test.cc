// The reader against a slow one made after docs/format.md: the same answer to
// every question, whatever the keys.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/random.h"
#include "tests/range/subject.h"
#include "tests/reference/range.h"

namespace deltabloom::test {
namespace {

TEST(RangeReference, SameAnswers) {
  const uint64_t seed = SeedOfThisRun();
  SCOPED_TRACE("DELTABLOOM_SEED=" + std::to_string(seed));
  Random random(seed);
  for (const KeyKind& kind : KeyKinds()) {
    for (const double bits : {3.0, 6.0, 12.0, 20.0}) {
      KeySet set;
      for (uint64_t n = random.Below(400); n-- > 0;) {
        set.insert(kind.key(&random));
      }
      const std::vector<std::string> keys(set.begin(), set.end());
      Questions questions;
      for (uint64_t n = keys.empty() ? 0 : 40 * random.Below(2); n > 0; --n) {
        questions.push_back(RangeNear(keys, kind, &random));
      }
      const std::string part = PartOf(set, bits, questions);
      if (part.empty()) continue;
      const internal::RangePart range(part);
      const reference::Range slow(part);
      ASSERT_FALSE(range.AlwaysMatches()) << kind.name;
      for (int i = 0; i < 100; ++i) {
        auto [lower, upper] = RangeNear(keys, kind, &random);
        if (part[1] == 1 && random.Below(4) != 0) {
          // Most ranges are too long to be empty.
          upper = lower;
          if (!upper.empty()) {
            upper.back() = static_cast<char>(upper.back() | 0x3f);
          }
        }
        ASSERT_EQ(range.MayMatch(lower, upper), slow.MayMatch(lower, upper))
            << kind.name << ", " << bits << " bits, " << keys.size()
            << " keys: " << range.Describe() << " "
            << testing::PrintToString(lower) << " "
            << testing::PrintToString(upper);
      }
    }
  }
}

}  // namespace
}  // namespace deltabloom::test
