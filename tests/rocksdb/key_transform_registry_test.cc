// Key transforms by name: those that are there, what may be registered, and
// their ids.
#include <gtest/gtest.h>

#include <string>

#include "engines/rocksdb/policy/key_transforms.h"
#include "tests/random.h"
#include "tests/rocksdb/equal_keys.h"

namespace deltabloom::testing {
namespace {

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string Apply(const char* name, const std::string& key) {
  KeyScratch scratch;
  return std::string(
      internal::FindKeyTransform(name)->transform.function(key, &scratch));
}

TEST(KeyTransformRegistryTest, BuiltinTransforms) {
  EXPECT_EQ(Apply("ascii_lowercase", ""), "");
  EXPECT_EQ(Apply("ascii_lowercase", "@AZ[`az{"), "@az[`az{");
  EXPECT_EQ(Apply("ascii_lowercase", std::string("\0A\xc4\xe4\xff", 5)),
            std::string("\0a\xc4\xe4\xff", 5));
  EXPECT_EQ(Apply("trim_trailing_spaces", ""), "");
  EXPECT_EQ(Apply("trim_trailing_spaces", "   "), "");
  EXPECT_EQ(Apply("trim_trailing_spaces", " a b  "), " a b");
  EXPECT_EQ(Apply("trim_trailing_spaces", std::string("a \0 ", 4)),
            std::string("a \0", 3));
  EXPECT_EQ(Apply("trim_trailing_spaces", "a \t"), "a \t");
  const uint64_t seed = test::SeedOfThisRun();
  SCOPED_TRACE("DELTABLOOM_SEED=" + std::to_string(seed));
  size_t spaces = 0;
  for (const std::string& key : test::Random(seed).MixedKeys(2000)) {
    EXPECT_EQ(Apply("ascii_lowercase", key), kIgnoreCase.counts(key));
    EXPECT_EQ(Apply("trim_trailing_spaces", key + std::string(spaces, ' ')),
              kPadSpace.counts(key));
    spaces = (spaces + 1) % 4;
  }
}

// docs/format.md, "Key transform".
TEST(KeyTransformRegistryTest, Ids) {
  EXPECT_EQ(internal::KeyTransformId("ascii_lowercase@1"), 0x7802baa7u);
  EXPECT_EQ(internal::KeyTransformId("trim_trailing_spaces@1"), 0x50b0ea61u);
  for (const char* name : {"ascii_lowercase", "trim_trailing_spaces"}) {
    const auto* transform = internal::FindKeyTransform(name);
    ASSERT_NE(transform, nullptr);
    EXPECT_EQ(transform->text, std::string(name) + "@1");
    EXPECT_EQ(transform->id, internal::KeyTransformId(transform->text));
    EXPECT_EQ(internal::FindKeyTransform(transform->id), transform);
  }
}

TEST(KeyTransformRegistryTest, NamesAndVersions) {
  RegisterTransformsOfTests();
  const auto* highest = internal::FindKeyTransform("test.lowercase_too");
  ASSERT_NE(highest, nullptr);
  EXPECT_EQ(highest->text, "test.lowercase_too@3");
  EXPECT_EQ(internal::FindKeyTransform("test.lowercase_too@3"), highest);
  EXPECT_EQ(internal::FindKeyTransform("test.lowercase_too@2")->text,
            "test.lowercase_too@2");
  for (const char* unknown :
       {"", "test.lowercase", "test.lowercase_too@4", "test.lowercase_too@03",
        "test.lowercase_too@", "@1", "Ascii_lowercase", "none"}) {
    EXPECT_EQ(internal::FindKeyTransform(unknown), nullptr) << unknown;
  }
}

TEST(KeyTransformRegistryTest, WhatIsRefused) {
  struct Case {
    std::string name;
    uint32_t version;
    std::string answer;
  };
  for (const Case& bad : std::vector<Case>{
           {"", 1, "the name '' is not legal: use 1 to 64 letters"},
           {std::string(65, 'a'), 1, "is not legal: use 1 to 64 letters"},
           {"none", 1, "the name 'none' is not legal"},
           {"a@b", 1, "the name 'a@b' is not legal"},
           {"a;b", 1, "the name 'a;b' is not legal"},
           {"a b", 1, "the name 'a b' is not legal"},
           {"\xc3\xa4", 1, "is not legal"},
           {"test.zero", 0, "version 0 is not legal: use 1 or more"},
           {"ascii_lowercase", 1,
            "ascii_lowercase@1 is registered already: a function with other "
            "results needs another version"}}) {
    std::string error;
    EXPECT_FALSE(RegisterForTest(bad.name, bad.version, Lower, &error))
        << bad.name;
    EXPECT_EQ(error.rfind("deltabloom: key transform", 0), 0u) << error;
    EXPECT_TRUE(Contains(error, bad.answer)) << error;
    EXPECT_FALSE(RegisterForTest(bad.name, bad.version, Lower));
  }
  KeyTransform empty;
  empty.name = "test.no_function";
  std::string error;
  EXPECT_FALSE(RegisterKeyTransform(empty, &error));
  EXPECT_TRUE(Contains(error, "test.no_function: no function")) << error;
  EXPECT_TRUE(RegisterForTest(std::string(64, 'a'), ~0u, Lower, &error))
      << error;
}

// Two texts of one id, found by trying.
TEST(KeyTransformRegistryTest, TwoNamesOfOneId) {
  const std::string first = "test.collides_75393";
  const std::string second = "test.collides_103412";
  ASSERT_EQ(internal::KeyTransformId(first + "@1"),
            internal::KeyTransformId(second + "@1"));
  std::string error;
  ASSERT_TRUE(RegisterForTest(first, 1, Lower, &error)) << error;
  EXPECT_FALSE(RegisterForTest(second, 1, Lower, &error));
  EXPECT_TRUE(Contains(error, "has the id of " + first)) << error;
  EXPECT_EQ(internal::FindKeyTransform(second), nullptr);
}

// A scratch is of any size, and a larger key leaves nothing to a smaller one.
TEST(KeyTransformRegistryTest, ScratchOfAnySize) {
  const auto* lower = internal::FindKeyTransform("ascii_lowercase");
  KeyScratch scratch;
  for (size_t size : {0u, 1u, 255u, 256u, 257u, 100000u, 300u, 0u, 256u}) {
    EXPECT_EQ(lower->transform.function(std::string(size, 'A'), &scratch),
              std::string(size, 'a'));
  }
}

}  // namespace
}  // namespace deltabloom::testing
