// The Guava filter without Guava at hand: bytes that Guava 31.1 wrote, every
// malformed field, options, threads.
#include "deltabloom/guava_filter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <thread>
#include <vector>

#include "deltabloom/guava_funnels.h"
#include "tests/csv.h"
#include "tests/random.h"

namespace deltabloom {
namespace {

GuavaFilterOptions Options(uint64_t keys, double rate) {
  GuavaFilterOptions options;
  options.expected_insertions = keys;
  options.false_positive_rate = rate;
  return options;
}

std::string Bytes(const GuavaFilter& filter) {
  std::string bytes;
  filter.AppendTo(&bytes);
  return bytes;
}

// What GuavaSide.java wrote: create(funnel, 10, 0.03), both strategies.
TEST(GuavaFilter, KnownAnswers) {
  const std::vector<std::string> chars = {
      GuavaUnencodedCharsFunnel(u"hello"),
      GuavaUnencodedCharsFunnel(u"caf\u00e9"),
      GuavaUnencodedCharsFunnel(u"\U0001F600"),
      GuavaUnencodedCharsFunnel(std::u16string(1, 0xD83D))};
  const std::vector<std::string> strings = {"hello", "caf\u00e9", "\U0001F600",
                                            "?"};
  const std::vector<std::string> longs = {
      GuavaLongFunnel(0), GuavaLongFunnel(42), GuavaLongFunnel(-1)};
  const std::vector<std::string> ints = {GuavaIntegerFunnel(42),
                                         GuavaIntegerFunnel(-1)};
  const struct {
    const std::vector<std::string>& keys;
    const char* hex[2];  // MITZ_32, MITZ_64
  } answers[] = {
      {chars,
       {"00050000000250422004020000280040020086901a04",
        "0105000000022020282020a480d00050010404080800"}},
      {strings,
       {"0005000000020823801000800102070000180100c000",
        "0105000000020050000008500405000010403041a512"}},
      {longs,
       {"00050000000212000092400600002021008010200000",
        "01050000000200008004200800010108800000020802"}},
      {ints,
       {"00050000000200241080090000006000210000000000",
        "01050000000200002080020200200802002000008002"}},
  };
  for (const auto& answer : answers) {
    for (const int strategy : {0, 1}) {
      GuavaFilterOptions options = Options(10, 0.03);
      options.strategy = static_cast<GuavaStrategy>(strategy);
      GuavaFilter filter(options);
      for (const std::string& key : answer.keys) EXPECT_TRUE(filter.Put(key));
      for (const std::string& key : answer.keys) EXPECT_FALSE(filter.Put(key));
      const std::string expected = test::FromHex(answer.hex[strategy]);
      EXPECT_EQ(Bytes(filter), expected);
      const auto read = GuavaFilter::FromBytes(expected);
      ASSERT_NE(read, nullptr);
      EXPECT_TRUE(read->IsCompatible(filter));
      EXPECT_EQ(read->ExpectedFpp(), filter.ExpectedFpp());
      EXPECT_EQ(read->HashFunctions(), 5u);
      EXPECT_EQ(read->Bits(), 128u);
      EXPECT_EQ(Bytes(*read), expected);
      for (const std::string& key : answer.keys) {
        EXPECT_TRUE(read->MightContain(key));
      }
      EXPECT_FALSE(read->MightContain("never put"));
    }
  }
}

TEST(GuavaFilter, SaysWhatIsWrongWithBytes) {
  const std::string good =
      test::FromHex("01050000000200002080020200200802002000008002");
  const auto with = [&good](size_t at, char byte) {
    std::string bytes = good;
    bytes[at] = byte;
    return bytes;
  };
  const struct {
    std::string bytes;
    const char* says;
  } cases[] = {
      {"", "truncated: 0 bytes"},
      {good.substr(0, 5), "truncated: 5 bytes"},
      {good.substr(0, 6), "truncated: 6 bytes of 22"},
      {good.substr(0, 21), "truncated: 21 bytes of 22"},
      {good + "x", "1 bytes behind"},
      {with(0, 2), "strategy 2"},
      {with(0, '\xff'), "strategy 255"},
      {with(1, 0), "0 hash functions"},
      {with(5, 0), "0 words"},
      {with(5, 1), "8 bytes behind"},
      {with(5, 3), "truncated: 22 bytes of 30"},
      {with(2, '\x80'), "negative count of words, -2147483646"},
      {with(2, '\x7f'), "truncated: 22 bytes of 17045651478"},
      {with(2, '\xff'), "negative"},
  };
  for (const auto& [bytes, says] : cases) {
    std::string error;
    EXPECT_EQ(GuavaFilter::FromBytes(bytes, &error), nullptr) << says;
    EXPECT_NE(error.find(says), std::string::npos) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos);
    EXPECT_EQ(GuavaFilter::FromBytes(bytes), nullptr);
  }
  std::string error = "as it was";
  EXPECT_NE(GuavaFilter::FromBytes(good, &error), nullptr);
  EXPECT_EQ(error, "as it was");
  EXPECT_NE(GuavaFilter::FromBytes(with(1, '\xff'), &error), nullptr);
}

TEST(GuavaFilter, RefusesWhatGuavaRefuses) {
  const struct {
    GuavaFilterOptions options;
    const char* says;
  } cases[] = {
      {Options(10, 0), "false_positive_rate = 0 "},
      {Options(10, 1), "false_positive_rate = 1 "},
      {Options(10, -1), "false_positive_rate = -1 "},
      {Options(10, std::nan("")), "false_positive_rate = nan"},
      {Options(1, 0.9), "0 bits"},
      {Options(uint64_t{1} << 63, 0.5), "expected_insertions"},
      {Options(uint64_t{1} << 62, 0.01), "2^31 - 1 words"},
      {Options(14400000000, 0.01), "2^31 - 1 words"},
      {Options(10, 1e-77), "256 hash functions"},
  };
  for (const auto& [options, says] : cases) {
    EXPECT_NE(options.Validate().find(says), std::string::npos)
        << options.Validate() << ": " << says;
    EXPECT_THROW(GuavaFilter{options}, std::invalid_argument);
  }
  GuavaFilterOptions unknown = Options(10, 0.01);
  unknown.strategy = static_cast<GuavaStrategy>(2);
  EXPECT_NE(unknown.Validate().find("strategy = 2"), std::string::npos);
  unknown = Options(10, 0.01);
  unknown.probe_rule = static_cast<GuavaProbeRule>(2);
  EXPECT_NE(unknown.Validate().find("probe_rule = 2"), std::string::npos);
  EXPECT_EQ(Options(14300000000, 0.01).Validate(), "");
  EXPECT_EQ(Options(10, 2e-77).Validate(), "");  // 255 hash functions
  EXPECT_STREQ(GuavaStrategyName(GuavaStrategy::kMurmur128Mitz32),
               "MURMUR128_MITZ_32");
  EXPECT_EQ(GuavaStrategyName(static_cast<GuavaStrategy>(2)), nullptr);
}

// One key at 30 %: 2.5 bits are 2, and 2 ln 2 rounds to 1; the rate alone asks
// for 1.74.
TEST(GuavaFilter, CurrentGuavaTakesHashFunctionsFromTheRate) {
  GuavaFilterOptions options = Options(1, 0.3);
  EXPECT_EQ(GuavaFilter(options).HashFunctions(), 1u);
  options.probe_rule = GuavaProbeRule::kFromRate;
  EXPECT_EQ(GuavaFilter(options).HashFunctions(), 2u);
  // No insertions count as one, also there.
  options.expected_insertions = 0;
  EXPECT_EQ(GuavaFilter(options).HashFunctions(), 2u);
  EXPECT_EQ(GuavaFilter(options).Bits(), 64u);
}

TEST(GuavaFilter, PutAllNeedsEqualShapes) {
  GuavaFilter filter(Options(1000, 0.01));
  GuavaFilter same(Options(1000, 0.01));
  GuavaFilter larger(Options(2000, 0.01));
  GuavaFilterOptions options = Options(1000, 0.01);
  options.strategy = GuavaStrategy::kMurmur128Mitz32;
  GuavaFilter other_strategy(options);
  for (uint64_t i = 0; i < 500; ++i) {
    filter.Put(GuavaLongFunnel(static_cast<int64_t>(i)));
    same.Put(GuavaLongFunnel(static_cast<int64_t>(1000 + i)));
  }
  EXPECT_TRUE(filter.IsCompatible(same));
  EXPECT_FALSE(filter.IsCompatible(filter));
  EXPECT_FALSE(filter.IsCompatible(larger));
  EXPECT_FALSE(filter.IsCompatible(other_strategy));
  EXPECT_THROW(filter.PutAll(filter), std::invalid_argument);
  EXPECT_THROW(filter.PutAll(larger), std::invalid_argument);
  try {
    filter.PutAll(other_strategy);
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("MURMUR128_MITZ_32, 7 hash"),
              std::string::npos)
        << error.what();
  }
  filter.PutAll(same);
  for (int64_t i = 0; i < 500; ++i) {
    EXPECT_TRUE(filter.MightContain(GuavaLongFunnel(i)));
    EXPECT_TRUE(filter.MightContain(GuavaLongFunnel(1000 + i)));
  }
  // Counted as bits that came, not as bits that were there.
  const auto read = GuavaFilter::FromBytes(Bytes(filter));
  EXPECT_EQ(filter.ExpectedFpp(), read->ExpectedFpp());
  EXPECT_EQ(filter.ApproximateElementCount(), read->ApproximateElementCount());
}

TEST(GuavaFilter, FullOfOnes) {
  const auto filter =
      GuavaFilter::FromBytes(test::FromHex("010500000001ffffffffffffffff"));
  ASSERT_NE(filter, nullptr);
  EXPECT_EQ(filter->ApproximateElementCount(), UINT64_MAX);
  EXPECT_EQ(filter->ExpectedFpp(), 1);
  EXPECT_FALSE(filter->Put("anything"));
  EXPECT_TRUE(filter->MightContain("anything else"));
}

TEST(GuavaFilter, KeysOfAnySize) {
  test::Random random(test::SeedOr(7));
  GuavaFilter filter(Options(200, 1e-6));
  std::vector<std::string> keys = {"", std::string(1, '\0'),
                                   std::string(1 << 20, 'x')};
  for (size_t size = 1; size < 100; ++size) keys.push_back(random.Key(size));
  for (const std::string& key : keys) filter.Put(key);
  for (const std::string& key : keys) EXPECT_TRUE(filter.MightContain(key));
  EXPECT_FALSE(filter.MightContain(std::string((1 << 20) - 1, 'x')));
}

// As JDK 17 decodes and encodes.
TEST(GuavaFunnels, TextThatIsNotWellFormed) {
  const struct {
    const char* bytes;
    std::u16string text;
  } cases[] = {
      {"", u""},
      {"\xF0\x9F\x98\x80\x41", u"\U0001F600A"},
      {"\xED\xA0\x80\xF0", u"\uFFFD\uFFFD"},  // a surrogate is one
      {"\xC0\x80", u"\uFFFD\uFFFD"},
      {"\xE2\x82\x41", u"\uFFFDA"},
      {"\xF0\x9F\x98", u"\uFFFD"},
      {"\xF4\x90\x80\x80", u"\uFFFD\uFFFD\uFFFD\uFFFD"},
      {"\x80\xFF", u"\uFFFD\uFFFD"},
  };
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(JavaUtf16(bytes), text) << bytes;
  }
  const std::u16string alone = {0xD83D, u'A', 0xDE00, 0xD83D};
  EXPECT_EQ(GuavaStringFunnel(alone), "?A??");
  EXPECT_EQ(GuavaStringFunnel(u"\u00e9\U0001F600"), "\xC3\xA9\xF0\x9F\x98\x80");
  const char units[] = "\x3D\xD8\x41\0\0\xDE\x3D\xD8";
  EXPECT_EQ(GuavaUnencodedCharsFunnel(alone), std::string(units, 8));
  EXPECT_EQ(GuavaIntegerFunnel(-2), "\xFE\xFF\xFF\xFF");
}

// The same keys from four threads beside readers: the bytes of one thread, no
// bit counted twice or lost, no published key missed.
TEST(GuavaFilter, ManyThreads) {
  constexpr int64_t kKeys = 20000;
  GuavaFilter alone(Options(kKeys, 0.01));
  for (int64_t i = 0; i < kKeys; ++i) alone.Put(GuavaLongFunnel(i));
  GuavaFilter filter(Options(kKeys, 0.01));
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&filter, thread] {
      for (int64_t i = 0; i < kKeys; ++i) {
        const int64_t key = (i + thread * kKeys / 4) % kKeys;
        filter.Put(GuavaLongFunnel(key));
        ASSERT_TRUE(filter.MightContain(GuavaLongFunnel(key)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Bytes(filter), Bytes(alone));
  EXPECT_EQ(filter.ExpectedFpp(), alone.ExpectedFpp());
}

}  // namespace
}  // namespace deltabloom
