// Range filters: the rule by its examples, the bytes, and which prefixes get
// bits.
#include "util/range/filter.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/range/declarations.h"
#include "tests/range/subject.h"
#include "util/range/asked_filters.h"
#include "util/range/filter_builder.h"
#include "util/range/key_range.h"

namespace deltabloom::test {
namespace {

using internal::range::Answer;
using internal::range::AskedFilters;
using internal::range::Filter;
using internal::range::FilterBuilder;
using internal::range::KeyRange;
using internal::range::Order;
using Keys = std::vector<std::string>;

Answer Ask(const std::string& bytes, const KeyRange& range) {
  const Filter filter(bytes);
  EXPECT_TRUE(filter.known());
  return AskedFilters(FindTestFunction).Ask(filter, range);
}

Answer Ask(const std::string& bytes, std::string_view lower,
           std::optional<std::string_view> upper,
           Order order = Order::kBytewise) {
  return Ask(bytes, RangeOfBounds(order, lower, upper));
}

// The bytes that all keys of a range share.
std::string Common(std::string_view lower,
                   std::optional<std::string_view> upper,
                   Order order = Order::kBytewise) {
  return std::string(RangeOfBounds(order, lower, upper).common);
}

TEST(RangeRule, SharedBytes) {
  EXPECT_EQ(Common("a/b/", "a/b0"), "a/b/");
  EXPECT_EQ(Common("a/b", "a/c"), "a/b");
  EXPECT_EQ(Common("ab", "ac"), "ab");
  EXPECT_EQ(Common("abx", "ac"), "ab");
  EXPECT_EQ(Common("ab\xff\xff"
                   "c\xff",
                   "ac"),
            "ab\xff\xff");
  // Two apart, or upper longer: "ac" itself would be in the range.
  EXPECT_EQ(Common("ab", "ad"), "a");
  EXPECT_EQ(Common("ab", "acx"), "a");
  EXPECT_EQ(Common("ab", std::string_view("ac\0", 3)), "a");
  EXPECT_EQ(Common("a", "ab"), "a");
  EXPECT_EQ(Common("", "b"), "");
  EXPECT_EQ(Common("\xff\xff"
                   "a",
                   std::nullopt),
            "\xff\xff");
  EXPECT_EQ(Common("a", std::nullopt), "");
  // From "a0" down to "a/": both "a0" and "a/x" are in the range.
  EXPECT_EQ(Common("a0", "a/", Order::kReverse), "a");
  EXPECT_EQ(Common("a/x", "a/b", Order::kReverse), "a/");
  EXPECT_EQ(Common("\xff", std::nullopt, Order::kReverse), "");
}

TEST(RangeRule, ExamplesOfTheFormat) {
  const std::string paths = FilterOf("'/'", {"a/1", "a/b/2", "c", "x"});
  EXPECT_EQ(Ask(paths, "a/b/", "a/b0"), Answer::kMayMatch);
  EXPECT_EQ(Ask(paths, "a/c/", "a/c0"), Answer::kNo);
  EXPECT_EQ(Ask(paths, "a/x", "a/y"), Answer::kMayMatch);  // for "a/"
  EXPECT_EQ(Ask(paths, "b/x", "b/y"), Answer::kNo);        // for "b/"
  EXPECT_EQ(Ask(paths, "ab", "ac"), Answer::kNoPlace);
  EXPECT_EQ(Ask(paths, "b", std::nullopt), Answer::kNoPlace);
  EXPECT_EQ(Ask(paths, "c", "b"), Answer::kMayMatch);
  const std::string second = FilterOf("'/'x2", {"a/b/c", "a/d", "x"});
  EXPECT_EQ(Ask(second, "a/b/c", "a/b/d"), Answer::kMayMatch);
  EXPECT_EQ(Ask(second, "a/c/c", "a/c/d"), Answer::kNo);
  EXPECT_EQ(Ask(second, "a/d", "a/e"), Answer::kNoPlace);
}

TEST(RangeRule, ShortKeysHaveNoPlaceAndAreNotLost) {
  const std::string bytes = FilterOf("8", {"12345678", "user", "users"});
  EXPECT_EQ(Ask(bytes, "user", "user5"), Answer::kNoPlace);
  EXPECT_EQ(Ask(bytes, "username", "usernamf"), Answer::kNo);
}

TEST(RangeRule, TheLongestPlaceIsAsked) {
  // Edges: source, type.
  const std::string bytes = FilterOf("8,9", {"sssssss1A", "sssssss3B"});
  EXPECT_EQ(Ask(bytes, "sssssss1A", "sssssss1B"), Answer::kMayMatch);
  EXPECT_EQ(Ask(bytes, "sssssss1B", "sssssss1C"), Answer::kNo);
  EXPECT_EQ(Ask(bytes, "sssssss1", "sssssss2"), Answer::kMayMatch);
  EXPECT_EQ(Ask(bytes, "sssssss2", "sssssss3"), Answer::kNo);
}

TEST(RangeRule, WindowsBetweenTheBounds) {
  const std::string bytes = FilterOf("8b", {"a", "b\xff", "m", "z"});
  EXPECT_EQ(Ask(bytes, "c", "g"), Answer::kNo);
  // The value of the upper bound is asked for, too.
  EXPECT_EQ(Ask(bytes, "f", "m"), Answer::kMayMatch);
  EXPECT_EQ(Ask(bytes, "b\xff\x01", "g"), Answer::kMayMatch);
  EXPECT_EQ(Ask(bytes, "c", "j"), Answer::kNo);       // 8 values
  EXPECT_EQ(Ask(bytes, "c", "k"), Answer::kNoPlace);  // 9
  EXPECT_EQ(Ask(bytes, "c", std::nullopt), Answer::kNoPlace);
}

// "ab" comes before "ab\0", and has the same window of 24 bits.
TEST(RangeRule, AKeyWithoutTheZerosOfTheUpperBoundIsNotLost) {
  using namespace std::string_view_literals;
  const std::string bytes = FilterOf("24b", {"aa", "ab", "z"});
  EXPECT_EQ(Ask(bytes, "aa\xff\x01"sv, "ab\0"sv), Answer::kMayMatch);
  EXPECT_EQ(Ask(bytes, "aa\xff\x01"sv, "ab\0\0"sv), Answer::kMayMatch);
  const std::string none = FilterOf("24b", {"aa", "ac", "z"});
  EXPECT_EQ(Ask(none, "aa\xff\x01"sv, "ab\0\0"sv), Answer::kNo);
}

TEST(RangeRule, WindowsBehindADelimiter) {
  const std::string bytes =
      FilterOf("'/'x1+8b", {"metric/A", "metric/K", "other", "x/y"});
  EXPECT_EQ(Ask(bytes, "metric/B", "metric/E"), Answer::kNo);
  EXPECT_EQ(Ask(bytes, "metric/E", "metric/K"), Answer::kMayMatch);
  // The delimiter is not what all keys share.
  EXPECT_EQ(Ask(bytes, "metric", "metric/C"), Answer::kNoPlace);
  EXPECT_EQ(Ask(bytes, "otherB", "otherC"), Answer::kNoPlace);
}

TEST(RangeRule, WindowsInTheReverseOrder) {
  const std::string bytes =
      FilterOf("8b", {"z", "m", "b\xff", "a"}, 1000, Order::kReverse);
  EXPECT_EQ(Ask(bytes, "j", "c", Order::kReverse), Answer::kNo);
  EXPECT_EQ(Ask(bytes, "m", "h", Order::kReverse), Answer::kMayMatch);
  EXPECT_EQ(Ask(bytes, "j", "b", Order::kReverse), Answer::kNoPlace);
  // The lower bound is in the range: "b" alone would have to pass.
  EXPECT_EQ(Ask(bytes, "d", "b\xff", Order::kReverse), Answer::kMayMatch);
}

TEST(RangeRule, TheReverseOrderHasNoSuccessor) {
  const std::string bytes = FilterOf("2", {"a0", "Z"}, 1000, Order::kReverse);
  EXPECT_EQ(Ask(bytes, "a0", "a/", Order::kReverse), Answer::kNoPlace);
  EXPECT_EQ(Ask(bytes, RangeOfPrefix(Order::kReverse, "a0")),
            Answer::kMayMatch);
  EXPECT_EQ(Ask(bytes, RangeOfPrefix(Order::kReverse, "ZZ")), Answer::kNo);
}

TEST(RangeRule, AllPlacesOfAKeyAreThere) {
  // A table in which a key has 20 delimiters, and its neighbour few.
  std::string key = "a";
  for (int i = 0; i < 20; ++i) key += "/b";
  const std::string bytes = FilterOf("'/'", {key, "a/c", "z"});
  for (size_t i = 2; i <= key.size(); ++i) {
    EXPECT_EQ(Ask(bytes, RangeOfPrefix(Order::kBytewise, key.substr(0, i))),
              Answer::kMayMatch)
        << i;
    // A range of another prefix as deep is denied up to the 16th.
    if (key[i - 1] != '/') continue;
    std::string other = key.substr(0, i);
    other[i - 2] = 'x';
    EXPECT_EQ(Ask(bytes, RangeOfPrefix(Order::kBytewise, other)),
              i / 2 <= 16 ? Answer::kNo : Answer::kMayMatch)
        << i;
  }
}

TEST(RangeRule, AFunctionOfTheBytesBehindTheFirst) {
  const std::string words("abcdwordword\xffrest\0\0\0\0\xfb", 22);
  const std::string other("abcdwordword\xffpart\0\0\0\0\xfb", 22);
  const std::string bytes = FilterOf("4+groups_of_8@1", {words + "row"});
  EXPECT_EQ(Filter(bytes).header().prefixes, 1u);
  EXPECT_EQ(Ask(bytes, RangeOfPrefix(Order::kBytewise, words)),
            Answer::kMayMatch);
  EXPECT_EQ(Ask(bytes, RangeOfPrefix(Order::kBytewise, words.substr(0, 21))),
            Answer::kNoPlace);
  EXPECT_EQ(Ask(bytes, RangeOfPrefix(Order::kBytewise, other)), Answer::kNo);
}

TEST(RangeEnds, KeysOutsideTheBounds) {
  const std::string bytes = FilterOf("9", {"b", "d"});
  EXPECT_EQ(Ask(bytes, "", "b"), Answer::kNo);
  EXPECT_EQ(Ask(bytes, "", std::string_view("b\0", 2)), Answer::kNoPlace);
  EXPECT_EQ(Ask(bytes, "a", "c"), Answer::kNoPlace);
  EXPECT_EQ(Ask(bytes, "d", "e"), Answer::kNoPlace);
  // The last key may go on, as far as its first bytes tell.
  EXPECT_EQ(Ask(bytes, "d1", "e"), Answer::kNoPlace);
  EXPECT_EQ(Ask(bytes, "e", std::nullopt), Answer::kNo);
  EXPECT_EQ(Ask(bytes, RangeOfPrefix(Order::kBytewise, "a")), Answer::kNo);
}

TEST(RangeEnds, OfTheReverseOrder) {
  const std::string bytes = FilterOf("9", {"d", "b"}, 1000, Order::kReverse);
  EXPECT_EQ(Filter(bytes).Describe(), "prefixes=9, reverse order, 0 of them");
  EXPECT_EQ(Ask(bytes, "b", "a", Order::kReverse), Answer::kNoPlace);
  EXPECT_EQ(Ask(bytes, "a", std::nullopt, Order::kReverse), Answer::kNo);
  EXPECT_EQ(Ask(bytes, "az", "a", Order::kReverse), Answer::kNo);
  EXPECT_EQ(Ask(bytes, "z", "e", Order::kReverse), Answer::kNo);
  EXPECT_EQ(Ask(bytes, "z", "d", Order::kReverse), Answer::kNoPlace);
  EXPECT_EQ(Ask(bytes, RangeOfPrefix(Order::kReverse, "a")), Answer::kNo);
}

TEST(RangeEnds, WhichTablesReachTheFront) {
  const auto reaches = [](Order order, const Keys& keys, std::string_view lower,
                          std::string_view upper) {
    return Filter(FilterOf("9", keys, 1000, order))
        .HasKeyFromFront(RangeOfBounds(order, lower, upper));
  };
  EXPECT_TRUE(reaches(Order::kBytewise, {"b", "d"}, "c", "c1"));
  EXPECT_TRUE(reaches(Order::kBytewise, {"b", "d"}, "d", "e"));
  EXPECT_FALSE(reaches(Order::kBytewise, {"b", "d"}, "e", "f"));
  EXPECT_TRUE(reaches(Order::kReverse, {"d", "b"}, "c", "bz"));
  EXPECT_FALSE(reaches(Order::kReverse, {"d", "b"}, "az", "a"));
}

// --- Bits --------------------------------------------------------------------

// 256 keys of 8 bytes in 16 groups by their first 7.
Keys Groups() {
  Keys keys;
  for (uint64_t i = 0; i < 4096; ++i) keys.push_back(BigEndian(i * 16));
  return keys;
}

TEST(RangeBits, EachPrefixGetsTheSame) {
  // 16 prefixes of 7 bytes do not cost 8 bits for each of 4,096 keys.
  const Filter few(FilterOf("7", Groups(), 8));
  EXPECT_EQ(few.header().prefixes, 256u);
  EXPECT_LT(FilterOf("7", Groups(), 8).size(), 256 * 16 / 8 + 100u);
  // A filter of all keys.
  const std::string all = FilterOf("8", Groups(), 8);
  EXPECT_EQ(Filter(all).header().prefixes, 4096u);
  EXPECT_NEAR(static_cast<double>(all.size()), 4096, 150);
}

TEST(RangeBits, SharedPrefixesCountOnce) {
  EXPECT_EQ(Filter(FilterOf("7,56b,7", Groups(), 8)).header().prefixes, 256u);
  EXPECT_EQ(Filter(FilterOf("7,8", Groups(), 8)).header().prefixes, 4352u);
}

TEST(RangeBits, ThePlaceWithMostPrefixesIsLeftOut) {
  const std::string both = FilterOf("7,8", Groups(), 4.5);
  EXPECT_EQ(Filter(both).header().held, "7,8");
  EXPECT_EQ(Filter(both).header().left_out, "");
  const std::string one = FilterOf("8,7", Groups(), 4);
  EXPECT_EQ(Filter(one).header().held, "7");
  EXPECT_EQ(Filter(one).header().left_out, "8");
  // Nothing of it is held: a range of 8 bytes asks for its first 7.
  EXPECT_EQ(Ask(one, BigEndian(17), BigEndian(18)), Answer::kMayMatch);
  EXPECT_NE(Filter(one).Describe().find("left out 8"), std::string::npos);
}

TEST(RangeBits, TheLastPlaceIsKeptDownToTwo) {
  std::string why;
  EXPECT_NE(FilterOf("8", Groups(), 2), "");
  EXPECT_EQ(FilterOf("8", Groups(), 1.9, Order::kBytewise, &why), "");
  EXPECT_EQ(why,
            "there are 1.90 bits for each of 4096 prefixes, and 2 are needed");
}

TEST(RangeBits, TheLimitOfATable) {
  FilterBuilder::Limits limits;
  std::string why;
  for (const uint64_t bytes : {1500u, 2000u, 3000u, 5000u}) {
    limits.bytes = bytes;
    const std::string filter =
        FilterOf("8", Groups(), 8, Order::kBytewise, &why, limits);
    EXPECT_LE(filter.size(), bytes);
    EXPECT_GT(filter.size(), bytes > 4200 ? 4000 : bytes - 150);
  }
  limits.bytes = 1000;
  EXPECT_EQ(FilterOf("8", Groups(), 8, Order::kBytewise, &why, limits), "");
  limits.bytes = 10;
  EXPECT_EQ(FilterOf("7", Groups(), 8, Order::kBytewise, &why, limits), "");
}

TEST(RangeBits, NoPrefixDeniesAllThatAskForOne) {
  const std::string bytes = FilterOf("'/'", {"a", "c"});
  EXPECT_EQ(Filter(bytes).header().prefixes, 0u);
  EXPECT_EQ(Ask(bytes, "b/", "b0"), Answer::kNo);
  EXPECT_EQ(Ask(bytes, "b", "d"), Answer::kNoPlace);
}

TEST(RangeBits, BuildingTakesWhatItSays) {
  FilterBuilder builder(Declared("8"), Order::kBytewise, 8);
  for (const std::string& key : Groups()) EXPECT_TRUE(builder.Add(key));
  // The filter is beside the prefixes.
  EXPECT_GT(builder.BuildBytes({}), builder.MemorySize());
  FilterBuilder::Limits limits;
  std::string why;
  limits.build_bytes = 1000;
  EXPECT_EQ(FilterOf("8", Groups(), 8, Order::kBytewise, &why, limits), "");
  EXPECT_EQ(why, "building it takes more than max_build_bytes");
  limits.build_bytes = 1 << 20;
  EXPECT_NE(FilterOf("8", Groups(), 8, Order::kBytewise, &why, limits), "");
}

// --- prefixes=auto -----------------------------------------------------------

TEST(RangeAuto, TakesWhatNineInTenKeysHave) {
  Keys keys;
  for (int i = 0; i < 100; ++i) {
    const std::string n = std::to_string(1000 + i);
    keys.push_back(i % 10 == 0 ? "k" + n + ":x" : "k" + n + "/a:x");
  }
  const std::string most = FilterOf("auto", keys);
  EXPECT_EQ(Filter(most).header().held, "'/',':'");
  keys.push_back("x:");
  const std::string fewer = FilterOf("auto", keys);
  EXPECT_EQ(Filter(fewer).header().held, "':'");
}

TEST(RangeAuto, KeysThatCameBeforeTheChoiceAreNotLost) {
  // The first keys lack what is chosen in the end.
  Keys keys = {"0/first", "1"};
  for (int i = 0; i < 100; ++i)
    keys.push_back("k" + std::to_string(100 + i) + "/x");
  const std::string bytes = FilterOf("auto", keys);
  EXPECT_EQ(Ask(bytes, "0/", "00"), Answer::kMayMatch);
  EXPECT_EQ(Ask(bytes, "k/", "k0"), Answer::kNo);
}

TEST(RangeAuto, ChoosesNothingForIntegers) {
  std::string why;
  EXPECT_EQ(FilterOf("auto", Groups(), 8, Order::kBytewise, &why), "");
  EXPECT_EQ(why, "no delimiter that nine in ten keys have: declare prefixes");
}

// --- Keys --------------------------------------------------------------------

TEST(RangeBuilder, RefusesKeysOutOfOrder) {
  FilterBuilder up(Declared("1"), Order::kBytewise, 8);
  EXPECT_TRUE(up.Add("b"));
  EXPECT_TRUE(up.Add("b"));
  EXPECT_EQ(up.keys(), 1u);
  EXPECT_FALSE(up.Add("a"));
  EXPECT_FALSE(up.Add(""));
  EXPECT_TRUE(up.Add("ba"));
  EXPECT_FALSE(up.Add("b"));
  FilterBuilder down(Declared("1"), Order::kReverse, 8);
  EXPECT_TRUE(down.Add("ba"));
  EXPECT_TRUE(down.Add("b"));
  EXPECT_FALSE(down.Add("ba"));
}

TEST(RangeBuilder, NoKeyNoFilter) {
  std::string why;
  EXPECT_EQ(FilterOf("1", {}, 8, Order::kBytewise, &why), "");
  EXPECT_EQ(why, "the table has no key");
}

TEST(RangeBuilder, FunctionsThatFail) {
  for (const char* const name : {"throws", "unordered", "beyond"}) {
    FilterBuilder builder(Declared(name), Order::kBytewise, 8);
    EXPECT_ANY_THROW(builder.Add("abc")) << name;
  }
}

// The example of docs/format.md.
TEST(RangeBytes, WorkedExample) {
  const std::string bytes = FilterOf("'/'", {"a/1", "a/b/2", "a/b/3", "c"}, 8);
  std::string hex;
  for (const char byte : bytes) {
    char text[3];
    std::snprintf(text, sizeof(text), "%02x", byte & 0xff);
    hex += text;
  }
  EXPECT_EQ(hex,
            "026500000000000000"                      // version, size
            "0010000402000000000000000300272f270000"  // header
            "0300612f31010063"                        // ends
            "0008000020000000000008000000000000040100000200000000040800000000"
            "0500000200010000020000000001000130000000000280000000000000000081"
            "33");
  EXPECT_EQ(Filter(bytes).Describe(),
            "prefixes='/', 2 of them at 260.00 bits: local, 6 + 5 probes, 1 "
            "blocks of 64 bytes");
}

}  // namespace
}  // namespace deltabloom::test
