// Remainders without division, against division.
#include <gtest/gtest.h>

#include "shared_filters/offsets.h"
#include "tests/random.h"

namespace deltabloom::internal {
namespace {

TEST(Divisor, EqualsDivision) {
  const uint64_t seed = test::SeedOfThisRun();
  SCOPED_TRACE("seed " + std::to_string(seed));
  test::Random random(seed);
  std::vector<uint64_t> values = {1, 2, 3, 64, UINT64_MAX, UINT64_MAX - 1};
  for (unsigned bit = 1; bit < 64; ++bit) {
    const uint64_t power = uint64_t{1} << bit;
    values.insert(values.end(),
                  {power - 1, power, power + 1, random.Next() >> bit | 1});
  }
  for (const uint64_t value : values) {
    const Divisor divisor(value);
    EXPECT_EQ(divisor.value(), value);
    std::vector<uint64_t> numbers = {
        0, 1, value - 1, value, value + 1, UINT64_MAX, UINT64_MAX - 1};
    for (int i = 0; i < 500; ++i) {
      const uint64_t multiple = random.Next() / value * value;
      numbers.insert(numbers.end(),
                     {random.Next(), random.Next() >> random.Below(64),
                      multiple, multiple - 1, multiple + value - 1});
    }
    for (const uint64_t number : numbers) {
      ASSERT_EQ(number % divisor, number % value) << number << " " << value;
    }
  }
}

}  // namespace
}  // namespace deltabloom::internal
