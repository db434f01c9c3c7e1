// Good sizes: the rule is the reference's business, here is what users of it
// rely on.
#include "util/layouts/classic/good_size.h"

#include <gtest/gtest.h>

namespace deltabloom::internal::classic {
namespace {

TEST(ClassicGoodSize, SmallSizesAreAllGood) {
  for (uint64_t bytes = 0; bytes < kSmallestAdjustedSize; ++bytes) {
    ASSERT_EQ(GoodSizeFrom(bytes), bytes);
    ASSERT_EQ(GoodSizeUpTo(bytes), bytes);
  }
}

// The rule repeats every 3 * 5 * 65537 bytes.
TEST(ClassicGoodSize, NextIsNearAndGrows) {
  uint64_t last_good = 0;
  for (uint64_t bytes = kSmallestAdjustedSize;
       bytes < kSmallestAdjustedSize + 15 * 65537 + 100; ++bytes) {
    const uint64_t good = GoodSizeFrom(bytes);
    ASSERT_GE(good, bytes);
    ASSERT_LE(good, bytes + 36);
    ASSERT_GE(good, last_good);
    ASSERT_TRUE(IsGoodSize(good));
    ASSERT_LE(GoodSizeUpTo(bytes), bytes);
    ASSERT_EQ(GoodSizeUpTo(good), good);
    last_good = good;
  }
}

TEST(ClassicGoodSize, ExampleOfTheFormat) {
  EXPECT_EQ(GoodSizeFrom(125'000), 125'002u);
  EXPECT_EQ(GoodSizeUpTo(125'003), 125'002u);
}

}  // namespace
}  // namespace deltabloom::internal::classic
