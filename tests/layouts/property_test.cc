// No false negative: random keys, sizes, levels and layouts. The seed is
// printed; DELTABLOOM_SEED repeats a run, DELTABLOOM_ROUNDS makes it longer
// (200 rounds by default). With DELTABLOOM_LONG_TESTS set, filters are larger
// and rounds more: billions of lookups of added keys, in minutes.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/layouts/subject.h"
#include "tests/random.h"

namespace deltabloom {
namespace {

using internal::CpuLevel;
using internal::CpuLevelName;
using internal::LayoutRow;
using test::Random;

template <typename T>
const T& Pick(const std::vector<T>& values, Random* random) {
  return values[random->Below(values.size())];
}

bool LongTests() { return std::getenv("DELTABLOOM_LONG_TESTS") != nullptr; }

// Pairs so far of a filter, read at one level, and a key added to it.
uint64_t pairs = 0;

std::vector<std::string> RandomKeys(Random* random) {
  const size_t n =
      random->Below(uint64_t{1} << random->Below(LongTests() ? 21 : 15));
  switch (random->Below(3)) {
    case 0:
      return random->MixedKeys(n);
    case 1:
      return random->Keys(n, random->Below(64));
    default: {
      // Counters, as many users have them.
      std::vector<std::string> keys;
      const uint64_t first = random->Next();
      const std::string prefix = random->Key(random->Below(20));
      for (size_t i = 0; i < n; ++i) {
        keys.push_back(prefix + std::to_string(first + i));
      }
      return keys;
    }
  }
}

void Round(uint64_t seed) {
  Random random(seed);
  const LayoutRow* row = Pick(test::AllRows(), &random);
  const auto keys = RandomKeys(&random);
  const auto millibits = static_cast<uint32_t>(random.Below(30000));
  const uint64_t extra = random.Below(2) == 0 ? 0 : random.Below(5000);
  SCOPED_TRACE(testing::Message()
               << row->name << ", " << keys.size() << " keys, millibits "
               << millibits << ", " << extra << " extra bytes");
  std::optional<std::string> filter;
  for (; row != nullptr; row = row->fallback) {
    filter = test::BuildFilter(*row, Pick(test::AllLevels(), &random), keys,
                               millibits, extra);
    if (filter) break;
  }
  ASSERT_TRUE(filter.has_value());
  for (CpuLevel level : test::AllLevels()) {
    const test::Reader reader(*row, level, *filter, random.Below(8));
    ASSERT_TRUE(reader.valid());
    for (const std::string& key : keys) {
      ASSERT_TRUE(reader.MayMatch(key)) << CpuLevelName(level);
      ASSERT_TRUE(reader.MayMatchHash(key)) << CpuLevelName(level);
    }
    pairs += keys.size();
    const std::vector<int> many = reader.MayMatchMany(keys, 0, keys.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      ASSERT_EQ(many[i], 1) << "key " << i << " " << CpuLevelName(level);
    }
  }
}

TEST(LayoutProperty, NoFalseNegative) {
  const char* wish = std::getenv("DELTABLOOM_ROUNDS");
  const uint64_t rounds = wish != nullptr ? std::strtoull(wish, nullptr, 10)
                                          : (LongTests() ? 25000 : 200);
  const uint64_t seed = test::SeedOfThisRun();
  std::printf("DELTABLOOM_SEED=%llu\n", static_cast<unsigned long long>(seed));
  for (uint64_t i = 0; i < rounds; ++i) {
    SCOPED_TRACE(testing::Message()
                 << "round " << i << " of DELTABLOOM_SEED=" << seed);
    Round(seed + i);
    if (testing::Test::HasFatalFailure()) return;
  }
  std::printf(
      "%llu pairs of a filter and an added key, each tested in 3 ways\n",
      static_cast<unsigned long long>(pairs));
}

}  // namespace
}  // namespace deltabloom
