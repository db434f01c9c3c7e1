// Good sizes: the rule is the reference's business, here is what users of it
// rely on.
#include "util/classic_size.h"

#include <gtest/gtest.h>

namespace deltabloom::internal {
namespace {

TEST(ClassicSize, SmallSizesAreAllGood) {
  for (uint64_t bytes = 0; bytes < kSmallestAdjustedClassicSize; ++bytes) {
    ASSERT_EQ(GoodClassicSizeFrom(bytes), bytes);
    ASSERT_EQ(GoodClassicSizeUpTo(bytes), bytes);
  }
}

// The rule repeats every 3 * 5 * 65537 bytes.
TEST(ClassicSize, NextIsNearAndGrows) {
  uint64_t last_good = 0;
  for (uint64_t bytes = kSmallestAdjustedClassicSize;
       bytes < kSmallestAdjustedClassicSize + 15 * 65537 + 100; ++bytes) {
    const uint64_t good = GoodClassicSizeFrom(bytes);
    ASSERT_GE(good, bytes);
    ASSERT_LE(good, bytes + 36);
    ASSERT_GE(good, last_good);
    ASSERT_TRUE(IsGoodClassicSize(good));
    ASSERT_LE(GoodClassicSizeUpTo(bytes), bytes);
    ASSERT_EQ(GoodClassicSizeUpTo(good), good);
    last_good = good;
  }
}

TEST(ClassicSize, ExampleOfTheFormat) {
  EXPECT_EQ(GoodClassicSizeFrom(125'000), 125'002u);
  EXPECT_EQ(GoodClassicSizeUpTo(125'003), 125'002u);
}

}  // namespace
}  // namespace deltabloom::internal
