#include "db_bench_ext/demo/keys.h"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/random.h"

namespace deltabloom::demo {
namespace {

std::vector<std::string> Words(size_t n) {
  std::vector<std::string> words;
  for (size_t i = 0; i < n; ++i) words.push_back("w" + std::to_string(i));
  return words;
}

class Drawn : public ::testing::Test {
 protected:
  const uint64_t seed_ = test::SeedOfThisRun();
  const ::testing::ScopedTrace trace_{
      __FILE__, __LINE__, "DELTABLOOM_SEED=" + std::to_string(seed_)};
};

using Permutations = Drawn;
using KeySets = Drawn;

TEST_F(Permutations, HitEveryNumberOnce) {
  for (const uint64_t size : {1u, 2u, 3u, 4u, 5u, 16u, 17u, 1000u, 65537u}) {
    for (const uint64_t seed : {uint64_t{0}, seed_, ~seed_}) {
      const Permutation permutation(size, seed);
      std::vector<bool> hit(size);
      for (uint64_t i = 0; i < size; ++i) {
        const uint64_t to = permutation(i);
        ASSERT_LT(to, size);
        ASSERT_FALSE(hit[to]) << "size " << size << " seed " << seed;
        hit[to] = true;
      }
    }
  }
}

TEST_F(Permutations, DependOnTheSeed) {
  const Permutation a(1000, seed_), b(1000, seed_ + 1);
  int same = 0;
  for (uint64_t i = 0; i < 1000; ++i) same += a(i) == b(i);
  EXPECT_LT(same, 50);  // 1 expected
}

// More keys than five times the words, and fewer: words run out or do not.
TEST_F(KeySets, KeysAreDistinctAndAbsentKeysAreNone) {
  for (const uint64_t size : {1000u, 4000u, 20000u}) {
    const KeySet keys(Words(2000), size, seed_);
    std::set<std::string> inserted;
    for (uint64_t i = 0; i < size; ++i) inserted.insert(keys.Key(i));
    EXPECT_EQ(inserted.size(), size);
    std::set<std::string> absent;
    for (uint64_t j = 0; j < size; ++j) absent.insert(keys.AbsentKey(j));
    EXPECT_EQ(absent.size(), size);
    for (const std::string& key : absent) EXPECT_EQ(inserted.count(key), 0u);
  }
}

TEST_F(KeySets, MixWordsAndPairs) {
  const KeySet keys(Words(2000), 5000, seed_);
  int words = 0;
  for (uint64_t i = 0; i < 5000; ++i) {
    words += keys.Key(i).find(' ') == std::string::npos;
  }
  EXPECT_EQ(words, 1000);
}

TEST_F(KeySets, DependOnTheSeedAlone) {
  const KeySet a(Words(2000), 1000, seed_), same(Words(2000), 1000, seed_),
      other(Words(2000), 1000, seed_ + 1);
  int differ = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(a.Key(i), same.Key(i));
    EXPECT_EQ(a.AbsentKey(i), same.AbsentKey(i));
    differ += a.Key(i) != other.Key(i);
  }
  EXPECT_GT(differ, 950);
}

TEST(KeySet, ValuesTellKeysApart) {
  EXPECT_EQ(KeySet::Value("zebra").size(), KeySet::kValueBytes);
  EXPECT_EQ(KeySet::Value("zebra"), KeySet::Value("zebra"));
  EXPECT_NE(KeySet::Value("zebra"), KeySet::Value("zebra "));
  EXPECT_NE(KeySet::Value(""), KeySet::Value(std::string(1, '\0')));
}

TEST(KeySet, AMissingWordFileSaysWhatToInstall) {
  try {
    KeySet::ReadWords("/nonexistent/words");
    FAIL() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("/nonexistent/words"),
              std::string::npos);
    EXPECT_NE(std::string(error.what()).find("wamerican-huge"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace deltabloom::demo
