// Local as docs/format.md defines it, beyond the tests of every layout, and its
// false-positive rate.
#include "util/layouts/local/local.h"

#include "table/framing.h"
#include "tests/csv.h"
#include "tests/filters.h"
#include "tests/layouts/subject.h"
#include "tests/random.h"
#include "tests/reference/reference.h"
#include "util/hash64.h"
#include "util/key_batch.h"
#include "util/rates/layout_rates.h"
#include "util/rates/rates.h"

namespace deltabloom {
namespace {

using internal::Cpu;
using internal::FilterKind;
using internal::ParsedFilter;
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

TEST(LocalFormat, SecondRoundIsInTheNextBlock) {
  std::string filter(3 * 64 + 1, '\0');
  filter.back() = 51;
  const auto set = [&](size_t bit) {
    filter[bit / 8] = static_cast<char>(filter[bit / 8] | 1 << bit % 8);
  };
  const size_t bits[] = {343, 357, 392, 185, 458, 506, 853, 883, 659, 945, 708};
  for (size_t bit : bits) {
    EXPECT_FALSE(Filter(filter).MayMatch("abc"));
    set(bit);
  }
  EXPECT_TRUE(Filter(filter).MayMatch("abc"));
}

FilterKind KindOfRaw(size_t payload_size, int marker) {
  std::string filter(payload_size + 1, '\0');
  filter.back() = static_cast<char>(marker);
  ParsedFilter parsed;
  const FilterKind kind =
      ParseRaw(filter, Hash::kMurmurHash2, Cpu::kPortable, &parsed, nullptr);
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

// A filter with bits anywhere in one block of 64 bytes, as RocksDB's Bloom
// filter, with the best number of probes. tests/util/rate_test.cc compares the
// rates with filters.
TEST(LocalFormat, FalsePositivesAtMostThoseOfPlainBlocks) {
  for (uint32_t bits = 5; bits <= 24; ++bits) {
    double plain = 1;
    for (int probes = 1; probes <= 16; ++probes) {
      plain = std::min(plain,
                       internal::BlockedBloomRate(512, 512.0 / bits, probes));
    }
    const double rate = internal::RateForMillibits(&kRow, 400000, bits * 1000);
    EXPECT_LE(rate, 1.03 * plain) << bits;
    // From 12 bits on two blocks pay: a sixth fewer and more.
    if (bits >= 14) {
      EXPECT_LE(rate, 0.85 * plain) << bits;
    }
    // A rate far below would be an error of this test.
    EXPECT_GE(rate, plain / 4) << bits;
  }
}

TEST(LocalFormat, PlansOfAnyNumberOfKeys) {
  const uint64_t two_to_32 = uint64_t{1} << 32;
  EXPECT_EQ(PlanFilter(&kRow, 0, 10000).payload_size, 64u);
  EXPECT_EQ(PlanFilter(&kRow, 51, 10000).payload_size, 64u);
  EXPECT_EQ(PlanFilter(&kRow, 52, 10000).payload_size, 128u);
  EXPECT_EQ(PlanFilter(&kRow, two_to_32, 10000).payload_size,
            (two_to_32 * 10 + 511) / 512 * 64);
  EXPECT_EQ(PlanFilter(&kRow, 1000 * two_to_32, 24000).payload_size,
            1000 * two_to_32 * 3);
  EXPECT_EQ(PlanFilter(&kRow, ~uint64_t{0}, 1000000).payload_size,
            uint64_t{1} << 62);
}

}  // namespace
}  // namespace deltabloom
