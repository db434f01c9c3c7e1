// The reciprocals give exact remainders, and each CPU level has kernels of its
// own.
#include "util/classic_modulo.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/random.h"
#include "util/classic.h"

namespace deltabloom::internal {
namespace {

constexpr uint64_t kTwoTo32 = uint64_t{1} << 32;

// Where rounding errors would show: around multiples of d and at the ends.
void CheckDivisor(uint64_t d, test::Random* random) {
  const Modulo modulo = MakeModulo(d);
  const uint64_t last_multiple = (kTwoTo32 - 1) / d * d;
  const uint64_t some_multiple =
      random->Below((kTwoTo32 - 1) / d + 1) * std::min(d, kTwoTo32 - 1);
  for (uint64_t middle : {uint64_t{0}, d, last_multiple, some_multiple,
                          random->Next(), kTwoTo32 / 2, kTwoTo32 - 1}) {
    for (uint64_t h = middle - 2; h != middle + 3; ++h) {
      const auto h32 = static_cast<uint32_t>(h);
      ASSERT_EQ(Remainder(h32, modulo), h32 % d) << h32 << " mod " << d;
      ASSERT_EQ(NarrowRemainder(h32, modulo), h32 % d) << h32 << " mod " << d;
    }
  }
}

TEST(Modulo, IsExactAroundMultiplesOfManyDivisors) {
  test::Random random(20260101);
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

// All 2^32 hashes for a few divisors; a stride makes it quick.
TEST(Modulo, IsExactOverTheWholeRange) {
  for (uint64_t d : {8ul, 64ul, 1000003ul, 2147483647ul, 2147483649ul,
                     4294967295ul, 4294967296ul, 4294967304ul}) {
    const Modulo modulo = MakeModulo(d);
    for (uint64_t h = 0; h < kTwoTo32; h += 251) {
      const auto h32 = static_cast<uint32_t>(h);
      ASSERT_EQ(Remainder(h32, modulo), h32 % d) << h32 << " mod " << d;
      ASSERT_EQ(NarrowRemainder(h32, modulo), h32 % d) << h32 << " mod " << d;
    }
  }
}

TEST(ClassicKernels, DifferFromLevelToLevel) {
  unsigned char payload[8] = {};
  for (const LayoutRow* row : {&kClassicMurmurHash2, &kClassicLevelDBHash}) {
    for (uint8_t k = 1; k <= 30; ++k) {
      std::set<decltype(ParsedFilter::may_match)> single;
      std::set<decltype(ParsedFilter::may_match_many)> many;
      for (CpuLevel level : kAllCpuLevels) {
        ParsedFilter parsed = {};
        parsed.payload = payload;
        parsed.payload_size = sizeof(payload);
        ASSERT_TRUE(row->parse(k, level, &parsed));
        single.insert(parsed.may_match);
        many.insert(parsed.may_match_many);
      }
#if defined(__x86_64__)
      EXPECT_EQ(single.size(), 3u) << unsigned{k};
      EXPECT_EQ(many.size(), 3u) << unsigned{k};
#endif
    }
  }
}

}  // namespace
}  // namespace deltabloom::internal
