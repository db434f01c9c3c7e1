// The public interface.

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "deltabloom/range_filter.h"
#include "tests/range/subject.h"
#include "util/range/cut.h"
#include "util/range/cut_text.h"

namespace deltabloom::test {
namespace {

TEST(RangeFilter, BuildsAndAsks) {
  RangeFilterBuilder builder;
  for (uint64_t i = 0; i < 1000; ++i) builder.AddKey(BigEndian(i << 32));
  EXPECT_GT(builder.BuildBytes(), 1000 * 8u);
  std::string bytes;
  ASSERT_TRUE(builder.Finish(&bytes));
  EXPECT_LE(bytes.size(), 1000 * 2 + 160u);
  RangeFilter filter(bytes);
  EXPECT_TRUE(filter.MayMatch(BigEndian(5ull << 32), BigEndian(6ull << 32)));
  EXPECT_FALSE(filter.MayMatch(BigEndian(2000ull << 32), "\xff"));
  EXPECT_TRUE(filter.MayMatch("b", "a"));
  EXPECT_NE(filter.Describe().find("numbers of 8 bytes"), std::string::npos);
  EXPECT_FALSE(builder.Finish(&bytes));

  const RangeFilter other("no filter");
  EXPECT_TRUE(other.MayMatch("a", "b"));
  EXPECT_EQ(other.Describe(), "damaged or of another version");
}

TEST(RangeFilter, CanBeMoved) {
  RangeFilterBuilder first;
  first.AddKey(BigEndian(1));
  RangeFilterBuilder builder = std::move(first);
  builder.AddKey(BigEndian(1 << 20));
  RangeFilterBuilder assigned;
  assigned = std::move(builder);
  std::string bytes;
  ASSERT_TRUE(assigned.Finish(&bytes));

  RangeFilter source(bytes);
  RangeFilter filter = std::move(source);
  RangeFilter target("no filter");
  target = std::move(filter);
  EXPECT_TRUE(target.MayMatch(BigEndian(1), BigEndian(2)));
  EXPECT_TRUE(target.MayMatch(BigEndian(1 << 20), BigEndian((1 << 20) + 1)));
  EXPECT_FALSE(target.MayMatch(BigEndian(1 << 24), BigEndian((1 << 24) + 1)));
}

TEST(RangeFilter, LearnsFromSamples) {
  RangeFilterBuilder builder({8, 0, {}});
  for (uint64_t i = 0; i < 50; ++i) {
    builder.AddSample(BigEndian(2 * i + 1), BigEndian(2 * i + 2));
  }
  for (uint64_t i = 0; i < 5000; ++i) {
    builder.AddKey(BigEndian(2 * (i / 5)) + BigEndian(i * i));
  }
  std::string bytes;
  ASSERT_TRUE(builder.Finish(&bytes));
  const RangeFilter filter(bytes);
  EXPECT_EQ(filter.Describe().substr(0, 21), "learned prefixes: 8 (");
}

TEST(RangeFilter, PrefixesAsText) {
  // Each text with its normalised form; null if it is not valid.
  const std::pair<std::string, const char*> texts[] = {
      {"", ""},
      {"8", "8"},
      {"8,12,'/'x3", "8,12,'/'x3"},
      {"1b,8192b,1024,64b", "1b,1024,1024,8"},
      {"'/'x3+4,'~'+12b,0x00x2+64b", "'/'x3+4,'~'x1+12b,0x00x2+8"},
      {"'/',',',0x00x2,0xffx255,0x2f", "'/'x1,','x1,0x00x2,0xffx255,'/'x1"},
      {"0", nullptr},
      {"1025", nullptr},
      {"8193b", nullptr},
      {"'/'+", nullptr},
      {"'/'+0", nullptr},
      {"'/'+1025", nullptr},
      {"'/'+8x2", nullptr},
      {"+8", nullptr},
      {"-8", nullptr},
      {"8,", nullptr},
      {",8", nullptr},
      {"8 9", nullptr},
      {"8;9", nullptr},
      {"'/'x0", nullptr},
      {"'/'x256", nullptr},
      {"'/'x", nullptr},
      {"'/", nullptr},
      {"0x2", nullptr},
      {"0xgg", nullptr},
      {"99999999999999999999", nullptr},
      {"1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1", nullptr},
  };
  for (const auto& [text, written] : texts) {
    RangeFilterOptions options;
    options.range_prefixes = text;
    std::vector<internal::range::Cut> cuts;
    EXPECT_EQ(internal::range::ParseCuts(text, &cuts), written != nullptr)
        << text;
    if (written == nullptr) {
      EXPECT_EQ(options.Validate(), "range_prefixes = " + text +
                                        " is not valid: use " +
                                        internal::range::kCutsSyntax);
      EXPECT_THROW(RangeFilterBuilder builder(options), std::invalid_argument);
      continue;
    }
    EXPECT_EQ(options.Validate(), "");
    std::string again;
    for (const auto& cut : cuts) {
      again += (again.empty() ? "" : ",") + internal::range::TextOf(cut);
    }
    EXPECT_EQ(again, written);
  }
}

// The keys are integers, which would be stored as numbers, and the sample would
// choose another prefix.
TEST(RangeFilter, PrefixesByHandComeBeforeNumbersAndSamples) {
  RangeFilterOptions options;
  options.bits_per_key = 12;
  options.range_prefixes = "6,7";
  RangeFilterBuilder builder(options);
  builder.AddSample(BigEndian(1), BigEndian(2));
  for (uint64_t i = 0; i < 1000; ++i) builder.AddKey(BigEndian(i << 9));
  std::string bytes;
  ASSERT_TRUE(builder.Finish(&bytes));
  const RangeFilter filter(bytes);
  int passed = 0;
  for (uint64_t i = 0; i < 999; ++i) {
    const uint64_t lower = (i << 9) + 256;
    passed += filter.MayMatch(BigEndian(lower), BigEndian(lower + 256));
  }
  EXPECT_LE(passed, 30) << filter.Describe();
}

TEST(RangeFilter, RangeLengthDecidesTheUnit) {
  for (const uint64_t length : {uint64_t{1}, uint64_t{1024}}) {
    RangeFilterBuilder builder({12, length, {}});
    for (uint64_t i = 0; i < 20'000; ++i) {
      builder.AddKey(BigEndian(i * 0x123456789abcd));
    }
    std::string bytes;
    ASSERT_TRUE(builder.Finish(&bytes));
    EXPECT_EQ(
        RangeFilter(bytes).Describe().find("unit 2^0") == std::string::npos,
        length != 1);
  }
}

TEST(RangeFilter, RefusesWhatMakesNoSense) {
  for (const double bits :
       {0.0, -1.0, 1001.0, std::numeric_limits<double>::quiet_NaN()}) {
    RangeFilterOptions options;
    options.bits_per_key = bits;
    EXPECT_NE(options.Validate().find("bits_per_key"), std::string::npos);
    EXPECT_THROW(RangeFilterBuilder builder(options), std::invalid_argument);
  }
}

}  // namespace
}  // namespace deltabloom::test
