// Classic and local beyond the tests of every layout. Classic: reciprocals give
// exact remainders; and what users of good sizes rely on (their rule is tested
// against the reference). Local: fields as docs/format.md defines them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "deltabloom/filter.h"
#include "table/framing.h"
#include "tests/csv.h"
#include "tests/filters.h"
#include "tests/random.h"
#include "tests/reference/reference.h"
#include "util/cpu.h"
#include "util/key_batch.h"
#include "util/layouts/classic/classic.h"
#include "util/layouts/layout.h"
#include "util/layouts/local/local.h"
#include "util/parsed_filter.h"

namespace deltabloom {
namespace {

namespace classic = internal::classic;
using internal::FilterKind;
using internal::local::kRow;

TEST(LocalFormat, WorkedExample) {
  const std::string filter = test::RawFilter(std::vector<std::string>{"abc"},
                                             test::OptionsOf(Layout::kLocal));
  EXPECT_EQ(filter, test::FromHex("00000000000000000000000000000000"
                                  "00000000000000020000000000000000"
                                  "00000000000000000000800020000000"
                                  "00010000000000000004000000000004"
                                  "26"));
  EXPECT_EQ(DescribeFilter(filter), "local, 6 probes, 1 blocks of 64 bytes");
}

FilterKind KindOfRaw(size_t payload_size, int marker) {
  std::string filter(payload_size + 1, '\0');
  filter.back() = static_cast<char>(marker);
  internal::ParsedFilter parsed;
  const FilterKind kind = ParseRaw(filter, Hash::kMurmurHash2,
                                   internal::Cpu::kPortable, &parsed, nullptr);
  // Zero bits match nothing; what is malformed matches everything.
  const std::string_view view = "key";
  bool many = false;
  MayMatchViews(parsed, &view, 1, &many);
  EXPECT_EQ(parsed.may_match(parsed, view), kind == FilterKind::kAlways);
  EXPECT_EQ(many, kind == FilterKind::kAlways);
  return kind;
}

TEST(LocalFormat, MarkersOfEveryBitsPerKey) {
  for (uint32_t millibits = 0; millibits <= 30000; ++millibits) {
    ASSERT_EQ(PlanFilter(&kRow, 1000, millibits).last_byte,
              reference::kLocal.build({}, millibits, 64).back())
        << millibits;
  }
  EXPECT_EQ(PlanFilter(&kRow, 1000, 1000000).last_byte, 56);
}

TEST(LocalFormat, MalformedFieldsMayMatch) {
  for (int marker = 33; marker <= 56; ++marker) {
    SCOPED_TRACE(marker);
    const bool legal = marker <= 40 || marker >= 48;
    for (size_t size = 1; size < 400; ++size) {
      EXPECT_EQ(KindOfRaw(size, marker), legal && size % 64 == 0
                                             ? FilterKind::kFilter
                                             : FilterKind::kAlways)
          << size;
    }
  }
  EXPECT_EQ(KindOfRaw(64, 32), FilterKind::kAlways);
  EXPECT_EQ(KindOfRaw(64, 57), FilterKind::kAlways);
}

constexpr uint64_t kTwoTo32 = uint64_t{1} << 32;

// Checks the numbers at which rounding errors would show: around multiples of d
// and at the ends.
void CheckDivisor(uint64_t d, test::Random* random) {
  const classic::Modulo modulo = classic::MakeModulo(d);
  const classic::Modulo32 quickly_made(
      static_cast<uint32_t>(std::min(d, kTwoTo32 - 1)));
  const uint64_t last_multiple = (kTwoTo32 - 1) / d * d;
  const uint64_t some_multiple =
      random->Below((kTwoTo32 - 1) / d + 1) * std::min(d, kTwoTo32 - 1);
  for (uint64_t middle : {uint64_t{0}, d, last_multiple, some_multiple,
                          random->Next(), kTwoTo32 / 2, kTwoTo32 - 1}) {
    for (uint64_t h = middle - 2; h != middle + 3; ++h) {
      const auto h32 = static_cast<uint32_t>(h);
      ASSERT_EQ(modulo(h32), h32 % d) << h32 << " mod " << d;
      ASSERT_EQ(classic::NarrowRemainder(h32, modulo.narrow_divisor(),
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
  for (uint64_t bytes = classic::kSmallestAdjustedSize;
       bytes < classic::kSmallestAdjustedSize + 15 * 65537 + 100; ++bytes) {
    const uint64_t good = classic::GoodSizeFrom(bytes);
    ASSERT_GE(good, bytes);
    ASSERT_LE(good, bytes + 36);
    ASSERT_GE(good, last_good);
    ASSERT_TRUE(classic::IsGoodSize(good));
    ASSERT_LE(classic::GoodSizeUpTo(bytes), bytes);
    ASSERT_EQ(classic::GoodSizeUpTo(good), good);
    last_good = good;
  }
  // The example of the format.
  EXPECT_EQ(classic::GoodSizeFrom(125'000), 125'002u);
  EXPECT_EQ(classic::GoodSizeUpTo(125'003), 125'002u);
}

}  // namespace
}  // namespace deltabloom
