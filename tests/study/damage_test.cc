// Flips and truncations of small filters, and of some that are large enough to
// be compact: what the seal promises, and that the study counts right.

#include "db_bench_ext/study/studies.h"
#include "tests/random.h"

namespace deltabloom::study {
namespace {

bool Contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

class DamageTest : public ::testing::Test {
 protected:
  const test::FreshRandom random_;
  const uint64_t seed_ = random_.seed;
  const std::vector<size_t> numbers_ = {0, 1, 2, 3, 5, 8, 13, 21, 240};
};

TEST_F(DamageTest, WhatTheSealPromises) {
  size_t kinds = 0;
  for (const auto& row : StudyDamage(numbers_, seed_)) {
    const std::string name = row["filter"];
    SCOPED_TRACE(name);
    ++kinds;
    EXPECT_GT(row["payload_flips"], 2000);
    EXPECT_GT(row["truncations"], 300);
    if (Contains(name, "sealed")) {
      EXPECT_EQ(row["losing_framing_flips"], 0);
    }
    if (Contains(name, "payload_check")) {
      EXPECT_EQ(row["losing"], 0);
    } else {
      // Bits that are set, at least, for some key needs each of them.
      EXPECT_GT(row["losing_percent"], 5);
      EXPECT_LT(row["losing_percent"], 80);
    }
    if (Contains(name, "own")) {
      EXPECT_EQ(row["losing_truncations"], 0);
    }
  }
  EXPECT_EQ(kinds, 14u);
}

// Under RocksDB's family name, RocksDB's reader answers for a filter that lost
// its trailer.
TEST_F(DamageTest, TruncatedFiltersAreRocksDBsToJudge) {
  const std::vector<FilterKind> kinds = FilterKinds();
  const FilterKind& rocksdb = kinds[kinds.size() - 2];
  ASSERT_EQ(rocksdb.name, "RocksDB Bloom");
  for (const FilterKind& kind : kinds) {
    if (!Contains(kind.name, "sealed") || Contains(kind.name, "own")) continue;
    for (const size_t n : numbers_) {
      const std::vector<std::string> keys = RandomKeys(n, seed_);
      const std::string filter = kind.build(keys);
      for (size_t size = 0; size < filter.size(); ++size) {
        const std::string cut = filter.substr(0, size);
        const MayMatch ours = kind.open(cut);
        const MayMatch theirs = rocksdb.open(cut);
        for (const std::string& key : keys) {
          // Too short to be one of its own: it says that there is no key.
          ASSERT_EQ(ours(key), size <= 5 || theirs(key)) << size;
        }
      }
    }
  }
}

// Counted again, by hand, where that is easy: one key in 64 bits sets at most 6
// of them, and to lose any of those is to lose it.
TEST_F(DamageTest, CountsOfOneKey) {
  const auto rows = StudyDamage({1}, seed_);
  const auto& classic = rows[0];
  ASSERT_EQ(classic["filter"], "raw classic");
  EXPECT_EQ(classic["payload_flips"], 64);
  EXPECT_GE(classic["losing"], 1);
  EXPECT_LE(classic["losing"], 6);
  EXPECT_EQ(classic["framing_flips"], 8);
  // Cut to no byte or one a filter holds no key.
  EXPECT_EQ(classic["truncations"], 9);
  EXPECT_GE(classic["losing_truncations"], 2);
}

}  // namespace
}  // namespace deltabloom::study
