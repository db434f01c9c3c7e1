// Parts of classic: reciprocals give exact remainders; and what users of good
// sizes rely on (their rule is tested against the reference).
#include "util/layouts/classic/classic.h"

#include "tests/random.h"

namespace deltabloom::internal::classic {
namespace {

constexpr uint64_t kTwoTo32 = uint64_t{1} << 32;

// Where rounding errors would show: around multiples of d and at the ends.
void CheckDivisor(uint64_t d, test::Random* random) {
  const Modulo modulo = MakeModulo(d);
  const Modulo32 quickly_made(static_cast<uint32_t>(std::min(d, kTwoTo32 - 1)));
  const uint64_t last_multiple = (kTwoTo32 - 1) / d * d;
  const uint64_t some_multiple =
      random->Below((kTwoTo32 - 1) / d + 1) * std::min(d, kTwoTo32 - 1);
  for (uint64_t middle : {uint64_t{0}, d, last_multiple, some_multiple,
                          random->Next(), kTwoTo32 / 2, kTwoTo32 - 1}) {
    for (uint64_t h = middle - 2; h != middle + 3; ++h) {
      const auto h32 = static_cast<uint32_t>(h);
      ASSERT_EQ(modulo(h32), h32 % d) << h32 << " mod " << d;
      ASSERT_EQ(NarrowRemainder(h32, modulo.narrow_divisor(),
                                modulo.narrow_inverse()),
                h32 % d)
          << h32 << " mod " << d;
      if (d >= kTwoTo32) continue;
      ASSERT_EQ(quickly_made(h32), h32 % d) << h32 << " mod " << d;
    }
  }
}

TEST(ClassicModulo, IsExactAroundMultiplesOfManyDivisors) {
  test::Random random(test::SeedOr(20260101));
  for (uint64_t d = 1; d < 300000; ++d) CheckDivisor(d, &random);
  for (uint64_t d = kTwoTo32 - 50000; d < kTwoTo32 + 50000; ++d) {
    CheckDivisor(d, &random);
  }
  for (unsigned bit = 1; bit < 64; ++bit) {
    for (uint64_t d = (uint64_t{1} << bit) - 1; d <= (uint64_t{1} << bit) + 1;
         ++d) {
      CheckDivisor(d, &random);
    }
  }
  for (int i = 0; i < 500000; ++i) {
    CheckDivisor(
        std::max(random.Next() >> (28 + random.Below(35)), uint64_t{1}),
        &random);
  }
  CheckDivisor(~uint64_t{0}, &random);
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
