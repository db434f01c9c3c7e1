// Filters by false_positive_rate and max_filter_bytes, on disk.
#include <gtest/gtest.h>

#include <cmath>

#include "engines/rocksdb/policy/filter_size.h"
#include "table/framing.h"
#include "tests/rocksdb/test_db.h"
#include "util/rates/layout_rates.h"

namespace deltabloom::testing {
namespace {

using internal::BitsFor;
using internal::FilterBits;
using internal::LayoutRow;

PolicyPtr ByRate(double rate, const std::string& layout) {
  RocksDBFilterOptions options;
  options.false_positive_rate = rate;
  EXPECT_TRUE(ParseLayout(layout, &options.layout));
  std::string error;
  PolicyPtr policy = NewRocksDBFilterPolicy(options, &error);
  EXPECT_NE(policy, nullptr) << error;
  return policy;
}

// What a filter on disk lets through, of several tables and of partitions.
class RateOnDisk : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Layouts, RateOnDisk,
                         ::testing::ValuesIn(LayoutNames()));

TEST_P(RateOnDisk, IsTheOneAskedFor) {
  // Classic is planned for its worst sizes.
  const double least_share = GetParam() == "classic" ? 0.7 : 0.97;
  for (const double rate : {0.05, 0.01, 0.001, 0.0001}) {
    SCOPED_TRACE(rate);
    TempDir dir;
    const int keys = 30000;
    auto db = Open(MakeOptions({ByRate(rate, GetParam()), false, nullptr}),
                   dir.Path("db"));
    Load(db.get(), 0, keys);
    const auto statistics = db->GetOptions().statistics;
    statistics->Reset();
    const int asked = rate < 0.001 ? 400000 : 60000;
    std::string value;
    for (int i = 0; i < asked; ++i) {
      // Between two keys, so that the table's bounds do not turn it away.
      const std::string key = Key(2 * (i % (keys - 1))) + std::to_string(i);
      ASSERT_TRUE(db->Get({}, key, &value).IsNotFound());
    }
    const double useful = static_cast<double>(
        statistics->getTickerCount(rocksdb::BLOOM_FILTER_USEFUL));
    const double passed = asked - useful;
    const double most = rate * asked;
    EXPECT_GT(useful, 0);
    EXPECT_LE(passed, most + 4.5 * std::sqrt(most) + 4.5);
    EXPECT_GE(passed, least_share * most - 4.5 * std::sqrt(most) - 4.5);
    ExpectNoneMissed(GetAll(db.get(), 0, keys));
  }
}

TEST_P(RateOnDisk, InPartitions) {
  const double rate = 0.01;
  TempDir dir;
  const int keys = 20000;
  auto db = Open(MakeOptions({ByRate(rate, GetParam()), true, nullptr}),
                 dir.Path("db"));
  Load(db.get(), 0, keys);
  const Lookups lookups = GetAll(db.get(), 0, keys);
  ExpectNoneMissed(lookups);
  const double passed = keys - static_cast<double>(lookups.useful);
  EXPECT_LE(passed, rate * keys + 4.5 * std::sqrt(rate * keys) + 4.5);
  // Filters of a few hundred keys have whole blocks.
  EXPECT_GE(passed, rate * keys / 3 - 4.5 * std::sqrt(rate * keys) - 4.5);
}

constexpr uint64_t kFraming = internal::kSealedFramingSize;

TEST(FilterBitsTest, FitTheLimitOrAreNone) {
  for (const std::string& name : LayoutNames()) {
    const LayoutRow& row = *internal::FindLayoutOfName(name);
    for (const uint64_t keys : {1u, 50u, 500u, 20000u, 1000000u}) {
      for (const uint64_t limit : {uint64_t{1}, uint64_t{16}, uint64_t{81},
                                   keys / 5, keys / 3, keys, keys * 10}) {
        if (limit == 0) continue;
        SCOPED_TRACE(name + ", " + std::to_string(keys) + " keys in " +
                     std::to_string(limit));
        const FilterBits bits = BitsFor({10000, 0, limit}, row, keys, kFraming);
        const auto size = [&](uint32_t millibits) {
          return PlanFilter(&row, keys, millibits).payload_size + kFraming;
        };
        EXPECT_FALSE(bits.rate_missed);
        EXPECT_EQ(bits.lowered, size(10000) > limit);
        if (bits.millibits_per_key == 0) {
          EXPECT_GT(size(2000), limit);
          continue;
        }
        EXPECT_GE(bits.millibits_per_key, 2000u);
        EXPECT_LE(size(bits.millibits_per_key), limit);
        if (bits.lowered) {
          EXPECT_GT(size(bits.millibits_per_key + 1), limit);
        }
      }
    }
  }
}

TEST(FilterBitsTest, ByRate) {
  for (const std::string& name : LayoutNames()) {
    const LayoutRow& row = *internal::FindLayoutOfName(name);
    const FilterBits bits =
        BitsFor({10000, 0.003, kUnlimited}, row, 50000, kFraming);
    EXPECT_EQ(bits.millibits_per_key,
              MillibitsForRate(&row, 50000, 0.003).millibits);
    EXPECT_FALSE(bits.rate_missed);
    EXPECT_FALSE(bits.lowered);
    // As much as writes a filter at all.
    EXPECT_EQ(
        BitsFor({0, 0.99, kUnlimited}, row, 50000, kFraming).millibits_per_key,
        500u);
    // A limit comes before the rate.
    const FilterBits capped =
        BitsFor({10000, 0.003, 20000}, row, 50000, kFraming);
    EXPECT_TRUE(capped.lowered);
    EXPECT_LT(capped.millibits_per_key, 3300u);
  }
  const LayoutRow& classic = *internal::FindLayoutOfName("classic");
  EXPECT_TRUE(
      BitsFor({0, 1e-4, kUnlimited}, classic, 10000000, kFraming).rate_missed);
}

int Count(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

uint64_t LargestFilter(rocksdb::DB* db) {
  rocksdb::TablePropertiesCollection tables;
  EXPECT_ROCKSDB_OK(db->GetPropertiesOfAllTables(&tables));
  uint64_t largest = 0;
  for (const auto& table : tables) {
    largest = std::max(largest, table.second->filter_size);
  }
  return largest;
}

TEST(MaxFilterBytes, LowersBitsAndSaysSoOnce) {
  for (const std::string& layout : LayoutNames()) {
    for (const bool for_memory : {false, true}) {
      TempDir dir;
      const PolicyPtr policy = PolicyFromString("id=deltabloom:16:" + layout +
                                                ";max_filter_bytes=5000");
      auto db = Open(MakeOptions({policy, false,
                                  [&](rocksdb::Options*, auto* table) {
                                    table->optimize_filters_for_memory =
                                        for_memory;
                                  }}),
                     dir.Path("db"));
      for (int i = 0; i < 3; ++i) Load(db.get(), 5000 * i, 5000 * (i + 1));
      EXPECT_LE(LargestFilter(db.get()), 5000u);
      EXPECT_GT(LargestFilter(db.get()), 4000u);
      const Lookups lookups = GetAll(db.get(), 0, 15000);
      ExpectNoneMissed(lookups);
      // About 8 bits per key: 3 % at most.
      EXPECT_GT(lookups.useful, 15000u * 95 / 100);
      EXPECT_EQ(Count(ReadFile(dir.Path("db/LOG")),
                      "which has to fit max_filter_bytes=5000"),
                1);
    }
  }
}

TEST(MaxFilterBytes, TooLittleIsNoFilterAndSaysSoOnce) {
  for (const std::string& layout : LayoutNames()) {
    TempDir dir;
    const PolicyPtr policy = PolicyFromString("id=deltabloom:16:" + layout +
                                              ";max_filter_bytes=1000");
    auto db = Open(MakeOptions({policy, false, nullptr}), dir.Path("db"));
    for (int i = 0; i < 3; ++i) Load(db.get(), 5000 * i, 5000 * (i + 1));
    EXPECT_EQ(LargestFilter(db.get()), 17u);
    const Lookups lookups = GetAll(db.get(), 0, 15000);
    ExpectNoneMissed(lookups);
    EXPECT_EQ(lookups.useful, 0u);
    const std::string log = ReadFile(dir.Path("db/LOG"));
    EXPECT_EQ(Count(log, "no filter for 5000 keys, max_filter_bytes=1000 "), 1);
    EXPECT_EQ(Count(log, "which has to fit"), 0);
  }
}

// Partitions are cut so that they fit, or nearly do.
TEST(MaxFilterBytes, OfPartitionsMakesMoreOfThem) {
  for (const std::string& layout : LayoutNames()) {
    TempDir dir;
    const PolicyPtr policy = PolicyFromString("id=deltabloom:10:" + layout +
                                              ";max_filter_bytes=400");
    auto db = Open(MakeOptions({policy, true, nullptr}), dir.Path("db"));
    Load(db.get(), 0, 10000);
    ExpectFiltered(GetAll(db.get(), 0, 10000), 10000);
  }
}

}  // namespace
}  // namespace deltabloom::testing
