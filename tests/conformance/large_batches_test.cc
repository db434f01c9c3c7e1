// Batches in filters so large that their lines are fetched ahead, which takes
// functions of its own: the same answers as one key at a time.
#include <gtest/gtest.h>

#include "tests/conformance/subject.h"
#include "tests/random.h"
#include "util/layouts/classic/kernels.h"
#include "util/layouts/compact/kernels.h"
#include "util/layouts/local/kernels.h"

namespace deltabloom {
namespace {

// 1.25 MB at 20 bits per key.
constexpr size_t kKeys = 500000;
constexpr uint32_t kMillibits = 20000;

TEST(LargeBatches, AnswerAsOneKeyAtATime) {
  test::Random random(test::SeedOr(20261104));
  std::vector<std::string> keys = random.MixedKeys(3000);
  const std::vector<std::string> absent = random.MixedKeys(3000);
  while (keys.size() < kKeys) keys.push_back(random.Key(9));
  // Present and absent in turn, in a batch.
  std::vector<std::string> asked;
  for (size_t i = 0; i < absent.size(); ++i) {
    asked.push_back(keys[i]);
    asked.push_back(absent[i]);
  }
  for (const internal::LayoutRow* row : test::AllRows()) {
    // Each level builds, too: large filters have their lines fetched there.
    std::string first;
    for (const internal::CpuLevel level : test::AllLevels()) {
      SCOPED_TRACE(std::string(row->name) + ", " + CpuLevelName(level));
      const auto filter = test::BuildFilter(*row, level, keys, kMillibits);
      ASSERT_TRUE(filter);
      ASSERT_GT(filter->size(), internal::classic::kPrefetchLookupsAbove);
      ASSERT_GT(filter->size(), internal::classic::kPrefetchBuildAbove);
      ASSERT_GT(filter->size(), internal::local::kPrefetchLookupsAbove);
      ASSERT_GT(filter->size(), internal::local::kPrefetchBuildAbove);
      ASSERT_GT(filter->size(), internal::compact::kPrefetchLookupsAbove);
      if (first.empty()) first = *filter;
      ASSERT_TRUE(*filter == first);
      const test::Reader reader(*row, level, *filter);
      ASSERT_TRUE(reader.valid());
      size_t positives = 0;
      for (size_t from = 0, n = 1; from < asked.size();
           from += n, n = n % 97 + 1) {
        n = std::min(n, asked.size() - from);
        std::vector<int> expected;
        for (size_t i = from; i < from + n; ++i) {
          expected.push_back(reader.MayMatch(asked[i]));
          ASSERT_TRUE(i % 2 == 1 || expected.back() == 1);
          positives += static_cast<size_t>(expected.back());
        }
        expected.push_back(2);
        ASSERT_EQ(reader.MayMatchMany(asked, from, n), expected);
      }
      // The keys that are in, and some of the others.
      ASSERT_LT(positives, 3000u + 300u);
    }
  }
}

}  // namespace
}  // namespace deltabloom
