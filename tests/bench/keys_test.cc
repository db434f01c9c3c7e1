// Keys are distinct, of the given size, and absent keys are not present.
#include "db_bench_ext/filter_bench/keys.h"

#include <set>

#include "tests/random.h"

namespace deltabloom::test {
namespace {

using bench::KeyChunk;
using bench::KeyKind;
using bench::KeyMaker;

class Keys : public ::testing::TestWithParam<KeyKind> {
 protected:
  const FreshRandom random_;
  const uint64_t seed_ = random_.seed;
};

TEST_P(Keys, AreDistinct) {
  for (size_t size : {KeyMaker::SmallestSize(GetParam()), size_t{17},
                      size_t{24}, size_t{100}}) {
    const KeyMaker maker(GetParam(), size, seed_);
    KeyChunk chunk(maker);
    std::set<std::string> keys;
    constexpr uint64_t kCount = 20'000;
    for (uint64_t i = 0; i < kCount; ++i) {
      // Some numbers are as large as those of timed builds.
      const uint64_t number = i % 2 == 0 ? i : (uint64_t{1} << 42) + i;
      chunk.Set(0, maker, number, true);
      keys.insert(chunk[0].ToString());
      chunk.Set(1, maker, number, false);
      keys.insert(chunk[1].ToString());
    }
    EXPECT_EQ(keys.size(), 2 * kCount) << size;
    EXPECT_EQ(keys.begin()->size(), size);
  }
}

TEST_P(Keys, DependOnNothingButTheirNumberAndSeed) {
  const KeyMaker maker(GetParam(), 24, seed_), again(GetParam(), 24, seed_);
  std::string key(24, '\0'), other(24, '\1');
  for (uint64_t i = 0; i < 100; ++i) {
    maker.Write(i, true, key.data());
    again.Write(i, true, other.data());
    EXPECT_EQ(key, other);
  }
}

INSTANTIATE_TEST_SUITE_P(AllKinds, Keys,
                         ::testing::Values(KeyKind::kRandom,
                                           KeyKind::kSequential,
                                           KeyKind::kDecimal));

TEST(Keys, RandomOnesHaveNoEmptyBytes) {
  // Every bit of every byte is set in about half of the keys.
  const FreshRandom random;
  const KeyMaker maker(KeyKind::kRandom, 43, random.seed);
  KeyChunk chunk(maker);
  constexpr int kKeys = 4096;
  std::vector<int> set_bits(43 * 8, 0);
  for (uint64_t i = 0; i < kKeys; ++i) {
    chunk.Set(0, maker, i, true);
    for (size_t bit = 0; bit < set_bits.size(); ++bit) {
      set_bits[bit] += chunk[0][bit / 8] >> (bit % 8) & 1;
    }
  }
  for (int count : set_bits) {
    // Seven standard deviations of 32.
    EXPECT_NEAR(count, kKeys / 2, 7 * 32);
  }
}

TEST(Keys, AbsentNumbersAreHandedOutOnce) {
  const uint64_t first = bench::TakeAbsent(10);
  EXPECT_EQ(bench::TakeAbsent(1), first + 10);
  EXPECT_EQ(bench::TakeAbsent(1), first + 11);
}

// The first numbers of SplitMix64 from the state 0, as its authors' program
// prints them.
TEST(Keys, MixIsSplitMix64) {
  bench::MixedNumbers numbers(0);
  EXPECT_EQ(numbers.Next(), 0xe220a8397b1dcdafu);
  EXPECT_EQ(numbers.Next(), 0x6e789e6aa1b965f4u);
  EXPECT_EQ(numbers.Next(), 0x06c45d188009454fu);
}

}  // namespace
}  // namespace deltabloom::test
