// The short ways to build and ask a filter give the bytes and answers of the
// long ones.
#include "table/single_use.h"

#include <gtest/gtest.h>

#include "tests/random.h"

namespace deltabloom::internal {
namespace {

TEST(SingleUse, RemainderIsExact) {
  const uint64_t seed = test::SeedOfThisRun();
  SCOPED_TRACE("DELTABLOOM_SEED=" + std::to_string(seed));
  test::Random random(seed);
  std::vector<uint32_t> numbers;
  for (uint32_t i = 0; i < 40; ++i) {
    numbers.insert(numbers.end(), {i, ~i, (1u << 31) + i, (1u << 31) - i});
    if (i < 32) numbers.push_back(1u << i);
  }
  for (int i = 0; i < 500; ++i) {
    numbers.push_back(static_cast<uint32_t>(random.Next() >> random.Below(33)));
    numbers.push_back(8 * (1 + static_cast<uint32_t>(random.Below(100000))));
  }
  for (uint32_t divisor : numbers) {
    if (divisor == 0) continue;
    const Remainder32 remainder(divisor);
    for (uint32_t h : numbers) {
      ASSERT_EQ(remainder(h), h % divisor) << h << " mod " << divisor;
    }
    for (uint64_t multiple = divisor; multiple < uint64_t{1} << 32;
         multiple += uint64_t{divisor} * (1 + random.Below(1u << 26))) {
      const auto h = static_cast<uint32_t>(multiple);
      ASSERT_EQ(remainder(h), 0u) << h << " mod " << divisor;
      ASSERT_EQ(remainder(h - 1), divisor - 1) << h - 1 << " mod " << divisor;
    }
  }
}

TEST(SingleUse, AnswersAsFilter) {
  const uint64_t seed = test::SeedOfThisRun();
  SCOPED_TRACE("DELTABLOOM_SEED=" + std::to_string(seed));
  test::Random random(seed);
  for (const Hash hash : {Hash::kMurmurHash2, Hash::kLevelDB}) {
    int absent = 0;
    for (int round = 0; round < 20000; ++round) {
      // Dense bits, so that many probes are reached.
      std::string filter(random.Below(round % 2 == 0 ? 20 : 200), '\xff');
      for (uint64_t holes = random.Below(8); holes > 0; --holes) {
        if (!filter.empty()) filter[random.Below(filter.size())] = '\x5a';
      }
      const uint64_t last = random.Below(round % 4 == 0 ? 256 : 31);
      if (!filter.empty()) filter.back() = static_cast<char>(last);
      const std::vector<char> bytes(filter.begin(), filter.end());
      const std::string_view view(bytes.data(), bytes.size());
      for (const std::string& key : random.MixedKeys(4)) {
        const bool expected = Filter(view, hash).MayMatch(key);
        ASSERT_EQ(MayMatchOnce(view, hash, key), expected)
            << "size " << view.size() << " last byte " << last;
        absent += expected ? 0 : 1;
      }
    }
    EXPECT_GT(absent, 5000);
    EXPECT_LT(absent, 75000);
  }
}

TEST(SingleUse, BuildsAsFilterBuilder) {
  const uint64_t seed = test::SeedOfThisRun();
  SCOPED_TRACE("DELTABLOOM_SEED=" + std::to_string(seed));
  test::Random random(seed);
  for (const Hash hash : {Hash::kMurmurHash2, Hash::kLevelDB}) {
    for (const size_t n : {0u, 1u, 2u, 7u, 100u, 1638u, 1639u, 1640u, 3000u}) {
      // 1638 keys of 10 bits are the last that are built directly.
      for (const double bits_per_key : {0.0, 0.5, 1.0, 7.77, 10.0, 43.0}) {
        FilterOptions options;
        options.bits_per_key = bits_per_key;
        options.hash = hash;
        const auto keys = random.Keys(n, 1 + random.Below(30));
        FilterBuilder builder(options);
        for (const std::string& key : keys) builder.AddKey(key);
        std::string expected = "before";
        builder.Finish(&expected);
        std::string filter = "before";
        CreateFilterAtOnce(
            options, n, [&](size_t i) -> std::string_view { return keys[i]; },
            &filter);
        ASSERT_EQ(filter, expected) << n << " keys of " << bits_per_key;
      }
    }
  }
}

}  // namespace
}  // namespace deltabloom::internal
