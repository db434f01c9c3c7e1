// Declarations as text: a user who writes a wrong one must be told, and one
// that was written must mean the same when it is read back.
#include "util/range/declaration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "deltabloom/prefix_function.h"
#include "tests/range/declarations.h"
#include "util/range/functions.h"
#include "util/range/place.h"
#include "util/range/places.h"
#include "util/range/prefixes_option.h"

namespace deltabloom::test {
namespace {

using internal::range::Place;
using Ends = std::vector<size_t>;

// The prefixes of a key, by their size in bits. Builders, which go on from the
// key before, and readers find the same.
Ends EndsIn(std::string_view declaration, std::string_view key) {
  const internal::range::Places places =
      Declared(std::string(declaration)).places;
  internal::range::Places::Found found;
  const size_t wanted = 0;
  Ends ends, of_reader;
  places.ForEach(
      key, &wanted, [&](size_t, size_t bits) { ends.push_back(bits); }, 0,
      &found);
  places.ForEach(key, &wanted,
                 [&](size_t, size_t bits) { of_reader.push_back(bits); });
  EXPECT_EQ(of_reader, ends);
  std::sort(ends.begin(), ends.end());
  return ends;
}

TEST(RangeDeclaration, PlacesOfAKey) {
  EXPECT_EQ(EndsIn("3", "abc"), Ends{24});
  EXPECT_EQ(EndsIn("3", "ab"), Ends{});
  EXPECT_EQ(EndsIn("'/'", "/a//b"), (Ends{8, 24, 32}));
  EXPECT_EQ(EndsIn("'/'", "ab"), Ends{});
  EXPECT_EQ(EndsIn("'/'x2", "/a//b"), Ends{24});
  EXPECT_EQ(EndsIn("'/'x2+1", "/a//b"), Ends{32});
  EXPECT_EQ(EndsIn("'/'x2+3", "/a//b"), Ends{});
  // Windows go on with zeros where a key ends.
  EXPECT_EQ(EndsIn("20b", "a"), Ends{20});
  EXPECT_EQ(EndsIn("'/'x3+20b", "/a//"), Ends{52});
  EXPECT_EQ(EndsIn("'/'x4+20b", "/a//"), Ends{});
}

TEST(RangeDeclaration, TheSeventeenthDelimiterIsNone) {
  const std::string key(40, '/');
  EXPECT_EQ(EndsIn("'/'", key).size(), 16u);
  EXPECT_EQ(EndsIn("'/'", key).back(), 8 * 16u);
  EXPECT_EQ(EndsIn("'/'x16", key), Ends{8 * 16});
  // Each byte is counted by itself.
  EXPECT_EQ(EndsIn("'/','a'", key + std::string(40, 'a')).size(), 32u);
}

TEST(RangeDeclaration, NothingEndsBehind1024Bytes) {
  const std::string key = std::string(1023, 'a') + "/b/c";
  EXPECT_EQ(EndsIn("'/'", key), Ends{8 * 1024});
  EXPECT_EQ(EndsIn("'/'x1+1", key), Ends{});
  EXPECT_EQ(EndsIn("'/'x1+1b", key), Ends{});
  EXPECT_EQ(EndsIn("1024", key), Ends{8 * 1024});
  EXPECT_EQ(EndsIn("thirds", key).back(), 8 * 1023u);
}

TEST(RangeDeclaration, FunctionsBehindALength) {
  EXPECT_EQ(EndsIn("thirds", "abcdefg"), (Ends{24, 48}));
  EXPECT_EQ(EndsIn("2+thirds", "abcdefg"), Ends{40});
  EXPECT_EQ(EndsIn("8+thirds", "abcdefg"), Ends{});
  EXPECT_THROW(EndsIn("throws", "a"), std::runtime_error);
  EXPECT_THROW(EndsIn("unordered", "abc"), std::invalid_argument);
  EXPECT_THROW(EndsIn("beyond", "abc"), std::invalid_argument);
}

TEST(RangeDeclaration, BuiltInFunctions) {
  using namespace std::string_view_literals;
  // TiDB's encoding of "abc" and of 8 bytes, then one byte that is no marker.
  const std::string group = std::string("abc\0\0\0\0\0\xfa"sv);
  const std::string two = std::string("abcdefgh\xff\0\0\0\0\0\0\0\0\xf7"sv);
  EXPECT_EQ(EndsIn("groups_of_8@1", group + two + "x"), (Ends{72, 72 + 144}));
  EXPECT_EQ(EndsIn("groups_of_8@1", group.substr(0, 8)), Ends{});
  EXPECT_EQ(EndsIn("4+groups_of_8@1", "1234" + group), Ends{8 * 13});
  EXPECT_EQ(EndsIn("groups_of_8@1", "abcdefgh\x64" + group), Ends{});
  // MyRocks counts the bytes of the last group, and 9 goes on.
  EXPECT_EQ(EndsIn("groups_of_8@1",
                   "abcdefgh\x09"
                   "abcdefgh\x08"),
            Ends{8 * 18});
  // Namespace "ns", key "k", version, then a field.
  const std::string hash =
      std::string("\x02ns\0\0\0\x01k\0\0\0\0\0\0\0\x07"sv) + "field";
  EXPECT_EQ(EndsIn("kvrocks@1", hash), (Ends{8 * 3, 8 * 8, 8 * 16}));
  EXPECT_EQ(EndsIn("kvrocks@1", hash.substr(0, 8)), (Ends{8 * 3, 8 * 8}));
  EXPECT_EQ(EndsIn("kvrocks@1", hash.substr(0, 6)), Ends{8 * 3});
  EXPECT_EQ(EndsIn("kvrocks@1", ""), Ends{});
  EXPECT_EQ(EndsIn("kvrocks@1", std::string(6, '\xff')), Ends{});
}

TEST(RangeDeclaration, AllBytesReadBack) {
  for (int byte = 0; byte < 256; ++byte) {
    Place place;
    place.kind = Place::Kind::kCounted;
    place.count = 2;
    place.byte = static_cast<uint8_t>(byte);
    place.bits = 24;
    const std::string text = TextOf(place);
    EXPECT_EQ(text.find_first_of(";={}#\\\"\n"), std::string::npos) << text;
    const std::vector<Place> read = Declared(text).places.places();
    ASSERT_EQ(read.size(), 1u);
    EXPECT_EQ(read[0].byte, place.byte);
    EXPECT_EQ(TextOf(read[0]), text);
  }
}

TEST(RangeDeclaration, TextReadsBack) {
  for (const char* const text :
       {"8", "8,9", "'/'", "'/'x3", "'/'x3+8", "'/'x16+7b", "56b", "8192b",
        "1024", "thirds@1", "4+thirds@1", "',','''", "0x3b,0x00x2", "auto",
        "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16"}) {
    EXPECT_EQ(PrefixesText(Declared(text)), text);
  }
  EXPECT_EQ(PrefixesText(Declared("thirds")), "thirds@1");
  EXPECT_EQ(PrefixesText(Declared("0x2f")), "'/'");
  EXPECT_EQ(PrefixesText(Declared("';'")), "0x3b");
}

TEST(RangeDeclaration, WhatIsNotLegal) {
  internal::range::PlacesToHold places;
  for (const char* const text : {"",
                                 ",",
                                 "8,",
                                 ",8",
                                 "0",
                                 "-1",
                                 "1025",
                                 "8193b",
                                 "0b",
                                 "8 ",
                                 " 8",
                                 "8x",
                                 "'/",
                                 "''",
                                 "'/'x",
                                 "'/'x0",
                                 "'/'x17",
                                 "'/'+8",
                                 "'/'x3+",
                                 "'/'x3+0",
                                 "'/'x3+1025",
                                 "/",
                                 "0x",
                                 "0x2",
                                 "0xgg",
                                 "8b+thirds",
                                 "8+8",
                                 "8+",
                                 "99999999999999999999",
                                 "'/''/'",
                                 "auto,8",
                                 "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17"}) {
    EXPECT_NE(ParsePrefixes(text, FindTestFunction, &places), "") << text;
  }
  EXPECT_EQ(ParsePrefixes("8,none@1", FindTestFunction, &places),
            "prefixes = 8,none@1 is not valid: the function none@1 is not "
            "registered");
  EXPECT_EQ(ParsePrefixes("thirds@2", FindTestFunction, &places),
            "prefixes = thirds@2 is not valid: the function thirds@2 is not "
            "registered");
  EXPECT_EQ(
      ParsePrefixes("/", FindTestFunction, &places)
          .rfind("prefixes = / is not valid: use auto, or up to 16 places", 0),
      0u);
}

TEST(RangeDeclaration, NamesOfFunctions) {
  internal::range::Functions functions;
  const PrefixFunction::Function none = [](std::string_view,
                                           std::vector<size_t>*) {};
  for (const char* const name : {"", "1a", "_a", "auto", "a b", "a,b", "a@1"}) {
    EXPECT_NE(functions.Add({name, 1, none}), "") << name;
  }
  EXPECT_NE(functions.Add({std::string(65, 'a'), 1, none}), "");
  EXPECT_NE(functions.Add({"a", 0, none}), "");
  EXPECT_NE(functions.Add({"a", 1, nullptr}), "");
  EXPECT_EQ(functions.Add({"a", 1, none}), "");
  EXPECT_EQ(functions.Add({"a", 2, none}), "");
  EXPECT_EQ(functions.Add({"a", 2, none}),
            "prefix function a@2 is registered already: a function with other "
            "results needs another version");
  EXPECT_EQ(functions.Find("a")->text, "a@2");
  EXPECT_EQ(functions.Find("a@1")->text, "a@1");
  EXPECT_EQ(functions.Find("a@3"), nullptr);
  EXPECT_EQ(functions.Names(), "a@1, a@2, groups_of_8@1, kvrocks@1");
}

}  // namespace
}  // namespace deltabloom::test
