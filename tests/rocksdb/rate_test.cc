// Filters by false_positive_rate and max_filter_bytes in databases.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>

#include "tests/rocksdb/test_db.h"

namespace deltabloom::testing {
namespace {

class RateTest : public ::testing::TestWithParam<std::string> {
 protected:
  PolicyPtr ByRate(double rate) {
    std::ostringstream text;
    text << "id=deltabloom;layout=" << GetParam()
         << ";false_positive_rate=" << rate;
    return PolicyFromString(text.str());
  }
  PolicyPtr ByBytes(int bits_per_key, int bytes) {
    return PolicyFromString("id=deltabloom:" + std::to_string(bits_per_key) +
                            ":" + GetParam() +
                            ";max_filter_bytes=" + std::to_string(bytes));
  }
  static void LoadThreeTables(TestDb* db) {
    for (int i = 0; i < 3; ++i) db->Load(5000 * i, 5000 * (i + 1));
  }
  static uint64_t LargestFilter(const TestDb& db) {
    uint64_t largest = 0;
    for (const auto& table : db.Tables()) {
      largest = std::max(largest, table.second->filter_size);
    }
    return largest;
  }
};

INSTANTIATE_TEST_SUITE_P(Layouts, RateTest, ::testing::ValuesIn(LayoutNames()));

TEST_P(RateTest, OnDiskIsTheRateOfTheOption) {
  // Classic is planned for its worst sizes.
  const double least_share = GetParam() == "classic" ? 0.7 : 0.97;
  const int keys = 30000;
  for (const double rate : {0.05, 0.01, 0.001, 0.0001}) {
    SCOPED_TRACE(rate);
    TestDb db(ByRate(rate));
    db.Load(0, keys);
    db.options().statistics->Reset();
    const int lookups = rate < 0.001 ? 400000 : 60000;
    std::string value;
    for (int i = 0; i < lookups; ++i) {
      // Between two keys, so that the table's bounds do not reject it.
      const std::string key = Key(2 * (i % (keys - 1))) + std::to_string(i);
      ASSERT_TRUE(db->Get({}, key, &value).IsNotFound());
    }
    const auto useful =
        static_cast<double>(db.Ticker(rocksdb::BLOOM_FILTER_USEFUL));
    const double passed = lookups - useful;
    const double most = rate * lookups;
    EXPECT_GT(useful, 0);
    EXPECT_LE(passed, most + 4.5 * std::sqrt(most) + 4.5);
    EXPECT_GE(passed, least_share * most - 4.5 * std::sqrt(most) - 4.5);
    ExpectNoneMissed(GetAll(db, 0, keys));
  }
}

TEST_P(RateTest, InPartitions) {
  const int keys = 20000;
  const double most = 0.01 * keys;
  TestDb db(ByRate(0.01), /*partitioned=*/true);
  db.Load(0, keys);
  const Lookups lookups = GetAll(db, 0, keys);
  ExpectNoneMissed(lookups);
  const double passed = keys - static_cast<double>(lookups.useful);
  EXPECT_LE(passed, most + 4.5 * std::sqrt(most) + 4.5);
  // Filters of a few hundred keys have whole blocks.
  EXPECT_GE(passed, most / 3 - 4.5 * std::sqrt(most) - 4.5);
}

TEST_P(RateTest, MaxFilterBytesLowersBitsAndSaysSoOnce) {
  for (const bool for_memory : {false, true}) {
    TestDb db(ByBytes(16, 5000), false, [&](auto*, auto* table) {
      table->optimize_filters_for_memory = for_memory;
    });
    LoadThreeTables(&db);
    EXPECT_LE(LargestFilter(db), 5000u);
    EXPECT_GT(LargestFilter(db), 4000u);
    const Lookups lookups = GetAll(db, 0, 15000);
    ExpectNoneMissed(lookups);
    // About 8 bits per key: 3 % at most.
    EXPECT_GT(lookups.useful, 15000u * 95 / 100);
    EXPECT_EQ(CountIn(db.Log(), "which has to fit max_filter_bytes=5000"), 1);
  }
}

TEST_P(RateTest, TooFewFilterBytesAreNoFilterAndTheLogSaysSoOnce) {
  TestDb db(ByBytes(16, 1000));
  LoadThreeTables(&db);
  EXPECT_EQ(LargestFilter(db), 17u);
  db.ExpectUnfiltered(0, 15000);
  EXPECT_EQ(
      CountIn(db.Log(), "no filter for 5000 keys, max_filter_bytes=1000 "), 1);
  EXPECT_EQ(CountIn(db.Log(), "which has to fit"), 0);
}

// Partitions are cut so that they fit, or nearly do.
TEST_P(RateTest, MaxFilterBytesMakesMorePartitions) {
  TestDb db(ByBytes(10, 400), /*partitioned=*/true);
  db.Load(0, 10000);
  db.ExpectFiltered(0, 10000);
}

}  // namespace
}  // namespace deltabloom::testing
