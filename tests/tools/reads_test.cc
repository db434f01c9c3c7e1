// Tests the share of lookups that asks each table, and what they read.
#include "tools/deltabloom/database/reads.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace deltabloom::tools {
namespace {

TEST(SharesOfLookups, TablesThatReachFromEndToEndAreAllAsked) {
  EXPECT_EQ(SharesOfLookups({{6, 10, "a", "z"}}, true),
            std::vector<double>({1}));
  EXPECT_EQ(SharesOfLookups({{0, 10, "a", "z"},
                             {0, 1000, "a", "z"},
                             {1, 500, "a", "z"},
                             {2, 9000, "a", "z"}},
                            true),
            std::vector<double>({1, 1, 1, 1}));
}

TEST(SharesOfLookups, ALevelSharesItsLookups) {
  // 300 of 400 keys up to c, 100 from x on.
  EXPECT_EQ(SharesOfLookups({{6, 300, "a", "c"}, {6, 100, "x", "z"}}, true),
            std::vector<double>({0.75, 0.25}));
}

TEST(SharesOfLookups, GapsOfALevelAreNotAsked) {
  // Between a and c are the 100 keys of the table there, and of the 1,600 keys
  // below those to a quarter of the way from a to i.
  const std::vector<double> shares =
      SharesOfLookups({{1, 100, "a", "c"}, {2, 1600, "a", "i"}}, true);
  EXPECT_DOUBLE_EQ(shares[0], 500.0 / 1700);
  EXPECT_DOUBLE_EQ(shares[1], 1);
}

TEST(SharesOfLookups, FilesOfLevel0InKeyOrderAreAskedByPart) {
  EXPECT_EQ(SharesOfLookups({{0, 100, "a", "b"}, {0, 100, "c", "d"}}, true),
            std::vector<double>({0.5, 0.5}));
}

TEST(SharesOfLookups, KeysAreNumbersBehindWhatIsEqual) {
  const std::string low = std::string("tenant") + '\0' + '\0';
  const std::string middle = std::string("tenant") + '\x40' + '\0';
  const std::string high = std::string("tenant\xff\xff");
  const std::vector<double> shares =
      SharesOfLookups({{1, 0, low, middle}, {2, 1e6, low, high}}, true);
  EXPECT_NEAR(shares[0], 0.25, 1e-4);
  EXPECT_DOUBLE_EQ(shares[1], 1);
}

TEST(SharesOfLookups, DecimalDigitsAreNumbers) {
  const std::vector<double> shares =
      SharesOfLookups({{1, 0, "user000100", "user000325"},
                       {2, 1e6, "user000000", "user000999"}},
                      true);
  EXPECT_NEAR(shares[0], 225.0 / 999, 1e-6);
  EXPECT_DOUBLE_EQ(shares[1], 1);
}

TEST(SharesOfLookups, ReverseOrderIsTheSame) {
  EXPECT_EQ(SharesOfLookups({{1, 100, "c", "a"}, {2, 1600, "i", "a"}}, true),
            SharesOfLookups({{1, 100, "a", "c"}, {2, 1600, "a", "i"}}, true));
}

TEST(SharesOfLookups, AnUnknownOrderTakesRunsToBeWhole) {
  EXPECT_EQ(
      SharesOfLookups(
          {{1, 100, "q", "b"}, {1, 300, "a", "a"}, {2, 9, "x", "a"}}, false),
      std::vector<double>({0.25, 0.75, 1}));
}

TEST(SharesOfLookups, AnyKeysGiveShares) {
  EXPECT_TRUE(SharesOfLookups({}, true).empty());
  // An absent key is not between two equal ones.
  EXPECT_EQ(SharesOfLookups({{1, 1, "", ""}}, true), std::vector<double>({0}));
  EXPECT_EQ(SharesOfLookups({{1, 5, "", std::string(100, '\xff')}}, true),
            std::vector<double>({1}));
  // They differ beyond the bytes that count.
  const std::string same(50, 's');
  EXPECT_EQ(SharesOfLookups({{1, 4, same + "a", same + "b"},
                             {2, 4, same, same + std::string(9, '\0') + "b"}},
                            true),
            std::vector<double>({0.5, 0.5}));
}

TEST(IsBytewise, KnowsRocksDBsComparators) {
  EXPECT_TRUE(IsBytewise("leveldb.BytewiseComparator"));
  EXPECT_TRUE(IsBytewise("rocksdb.ReverseBytewiseComparator"));
  EXPECT_TRUE(IsBytewise("leveldb.BytewiseComparator.u64ts"));
  EXPECT_FALSE(IsBytewise("their.Comparator"));
  EXPECT_FALSE(IsBytewise(".u64ts"));
  EXPECT_FALSE(IsBytewise(""));
}

TEST(Reads, AreRatesByShare) {
  Reads reads;
  EXPECT_EQ(reads.Text(), "0.0000");
  reads.Add(0.01, 1);
  reads.Add(1, 0.25);
  EXPECT_DOUBLE_EQ(*reads.Sum(), 0.26);
  EXPECT_EQ(reads.Text(), "0.2600");
  reads.Add(std::nullopt, 0.5);
  EXPECT_FALSE(reads.Sum().has_value());
  EXPECT_EQ(reads.Text(), "?");
}

}  // namespace
}  // namespace deltabloom::tools
