// Which keys make a range part, and what is said when they make none.
#include "engines/rocksdb/range/range_keys.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "engines/rocksdb/policy/bits_builder.h"
#include "tests/rocksdb/line_logger.h"
#include "tests/rocksdb/test_db.h"

namespace deltabloom::internal {
namespace {

using rocksdb::Slice;
using State = RangeKeys::State;

constexpr double kBitsPerKey = 20;

// With the prefix of the extractor.
void AddAll(const std::vector<std::string>& texts, RangeKeys* keys) {
  for (const std::string& text : texts) {
    keys->Add(text);
    keys->Add(Slice());
  }
}

void ExpectNothing(RangeKeys* keys, State why) {
  EXPECT_EQ(keys->state(), why);
  EXPECT_EQ(keys->keys(), 0u);
  EXPECT_EQ(keys->BuildBytes(), 0u);
  std::string part = "before";
  EXPECT_FALSE(keys->Finish(&part));
  EXPECT_EQ(part, "before");
  EXPECT_EQ(keys->state(), why);
}

// As after any failure, once it is Reset.
void ExpectAll(RangeKeys* keys) {
  EXPECT_EQ(keys->state(), State::kTaken);
  EXPECT_EQ(keys->keys(), 0u);
  AddAll({"a", "b", "b", "c"}, keys);
  EXPECT_EQ(keys->state(), State::kTaken);
  EXPECT_EQ(keys->keys(), 3u);
  EXPECT_GT(keys->BuildBytes(), 0u);
  std::string bytes = "before";
  EXPECT_TRUE(keys->Finish(&bytes));
  ASSERT_EQ(bytes.substr(0, 6), "before");
  const RangePart part(std::string_view(bytes).substr(6));
  EXPECT_FALSE(part.AlwaysMatches());
  for (const char* key : {"a", "b", "c"}) {
    EXPECT_TRUE(part.MayMatch(key, std::string(key) + "x"));
  }
  keys->Reset();
}

TEST(RangeKeysTest, Taken) {
  RangeKeys keys(kBitsPerKey);
  ExpectAll(&keys);
  ExpectAll(&keys);
}

TEST(RangeKeysTest, Off) {
  RangeKeys keys(0);
  AddAll({"a", "b"}, &keys);
  keys.AddKeyAndAlt("c", "x");
  ExpectNothing(&keys, State::kOff);
  keys.Reset();
  ExpectNothing(&keys, State::kOff);
}

TEST(RangeKeysTest, NoKeys) {
  RangeKeys keys(kBitsPerKey);
  ExpectNothing(&keys, State::kTaken);
  keys.Add(Slice());
  ExpectNothing(&keys, State::kTaken);
  keys.Reset();
  ExpectAll(&keys);
}

TEST(RangeKeysTest, NotInOrder) {
  RangeKeys keys(kBitsPerKey);
  AddAll({"a", "c", "b"}, &keys);
  EXPECT_EQ(keys.state(), State::kNotInOrder);
  AddAll({"d", "e"}, &keys);
  ExpectNothing(&keys, State::kNotInOrder);
  keys.Reset();
  ExpectAll(&keys);
  keys.AddKeyAndAlt("b", Slice());
  keys.AddKeyAndAlt("a", Slice());
  ExpectNothing(&keys, State::kNotInOrder);
}

TEST(RangeKeysTest, NoPrefixes) {
  RangeKeys keys(kBitsPerKey);
  keys.Add("a");
  EXPECT_EQ(keys.state(), State::kTaken) << "its prefix may come";
  keys.Add("b");
  ExpectNothing(&keys, State::kNoExtractor);
  keys.Reset();
  ExpectAll(&keys);
  keys.Add("a");  // alone
  std::string part;
  EXPECT_FALSE(keys.Finish(&part));
  ExpectNothing(&keys, State::kNoExtractor);
}

TEST(RangeKeysTest, PrefixesOfAnotherExtractor) {
  RangeKeys keys(kBitsPerKey);
  keys.AddKeyAndAlt("ab", Slice());
  keys.AddKeyAndAlt("ac", "a");
  ExpectNothing(&keys, State::kNoExtractor);
  keys.AddKeyAndAlt("ad", Slice());
  ExpectNothing(&keys, State::kNoExtractor);
  keys.Reset();
  ExpectAll(&keys);
}

TEST(RangeKeysTest, GivenUp) {
  RangeKeys keys(kBitsPerKey);
  AddAll({"a", "b"}, &keys);
  keys.Drop();
  ExpectNothing(&keys, State::kTooLarge);
  AddAll({"c"}, &keys);
  ExpectNothing(&keys, State::kTooLarge);
  keys.Reset();
  ExpectAll(&keys);
}

TEST(RangeKeysTest, TooFewBits) {
  RangeKeys keys(1e-6);
  for (int i = 0; i < 10'000; ++i) AddAll({testing::Key(i)}, &keys);
  ASSERT_EQ(keys.keys(), 10'000u);
  std::string part;
  EXPECT_FALSE(keys.Finish(&part));
  EXPECT_EQ(part, "");
  ExpectNothing(&keys, State::kUnfit);
}

// What the LOG of a builder says of keys that all come with their prefixes.
std::string Said(BuilderSettings settings,
                 const std::vector<std::string>& keys) {
  testing::LineLogger log;
  settings.log = &log;
  settings.layout = FindLayout(Layout::kLocal, Hash::kMurmurHash2, -1);
  settings.millibits_per_key = 20'000;
  settings.range = true;
  BitsBuilder builder(settings);
  for (int filter = 0; filter < 2; ++filter) {
    for (const std::string& key : keys) builder.AddKeyAndAlt(key, Slice());
    std::unique_ptr<const char[]> owner;
    builder.Finish(&owner);
  }
  const auto lines = log.Lines("range=on, and a filter has no range part");
  EXPECT_LE(lines.size(), 1u) << "of all filters of a policy";
  return lines.empty() ? "" : lines[0];
}

TEST(RangeKeysTest, TheLogSaysWhy) {
  const auto says = [](const std::string& line, const char* what) {
    return line.find(what) != std::string::npos;
  };
  std::vector<std::string> keys;
  for (int i = 0; i < 1000; ++i) keys.push_back(testing::Key(i));
  EXPECT_EQ(Said({}, keys), "");
  EXPECT_TRUE(says(Said({}, {"b", "a"}), "do not ascend bytewise"));
  BuilderSettings small;
  small.max_filter_bytes = 1000;
  EXPECT_TRUE(says(Said(small, keys), "would not fit"));
  BuilderSettings thrifty;
  thrifty.max_build_bytes = 9000;
  EXPECT_TRUE(says(Said(thrifty, keys), "would not fit"));
}

}  // namespace
}  // namespace deltabloom::internal
