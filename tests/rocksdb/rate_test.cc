// Filters by false_positive_rate and max_filter_bytes: as options, and on disk.
#include "util/rate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engines/rocksdb/filter_bits.h"
#include "rocksdb/utilities/options_util.h"
#include "table/framing.h"
#include "tests/rocksdb/test_db.h"

namespace deltabloom::testing {
namespace {

using internal::BitsFor;
using internal::FilterBits;
using internal::LayoutRow;
using rocksdb::ConfigOptions;
using rocksdb::FilterPolicy;
using rocksdb::Status;

PolicyPtr ByRate(double rate, const std::string& layout) {
  RocksDBFilterOptions options;
  options.false_positive_rate = rate;
  EXPECT_TRUE(ParseLayout(layout, &options.layout));
  std::string error;
  PolicyPtr policy = NewRocksDBFilterPolicy(options, &error);
  EXPECT_NE(policy, nullptr) << error;
  return policy;
}

void ExpectRefused(const std::string& text, const std::string& answer) {
  EXPECT_TRUE(RegisterRocksDB());
  PolicyPtr policy;
  const Status status =
      FilterPolicy::CreateFromString(ConfigOptions(), text, &policy);
  EXPECT_FALSE(status.ok()) << text;
  EXPECT_NE(status.ToString().find(answer), std::string::npos)
      << text << "\n  " << status.ToString();
  EXPECT_EQ(status.ToString().find('\n'), std::string::npos);
}

TEST(RateOptions, GoodText) {
  struct Case {
    const char* text;
    const char* bits_per_key;
    const char* rate;
    const char* max_filter_bytes;
  };
  for (const Case& good : std::initializer_list<Case>{
           {"deltabloom", "10", "0", "unlimited"},
           {"id=deltabloom;false_positive_rate=0.01", "unset", "0.01",
            "unlimited"},
           {"id=deltabloom;false_positive_rate=1e-4;bits_per_key=unset",
            "unset", "0.0001", "unlimited"},
           {"id=deltabloom:unset:local;false_positive_rate=0.125", "unset",
            "0.125", "unlimited"},
           {"id=deltabloom;false_positive_rate=0;bits_per_key=7", "7", "0",
            "unlimited"},
           {"id=deltabloom:7;false_positive_rate=0.0", "7", "0", "unlimited"},
           {"id=deltabloom;false_positive_rate=0;bits_per_key=unset", "10", "0",
            "unlimited"},
           {"id=deltabloom;false_positive_rate=1e-9", "unset", "1e-09",
            "unlimited"},
           {"id=deltabloom;max_filter_bytes=1", "10", "0", "1"},
           {"id=deltabloom;max_filter_bytes=18446744073709551615", "10", "0",
            "unlimited"},
           {"id=deltabloom;max_filter_bytes=unlimited", "10", "0", "unlimited"},
       }) {
    SCOPED_TRACE(good.text);
    const PolicyPtr policy = PolicyFromString(good.text);
    EXPECT_EQ(Option(*policy, "bits_per_key"), good.bits_per_key);
    EXPECT_EQ(Option(*policy, "false_positive_rate"), good.rate);
    EXPECT_EQ(Option(*policy, "max_filter_bytes"), good.max_filter_bytes);
  }
}

TEST(RateOptions, BadText) {
  const std::string id = "id=deltabloom;";
  const std::string rate = "false_positive_rate ";
  const std::string range =
      " is out of range: use 0.000000001 to less than 1, 0.01 takes about 10";
  for (const std::string bad :
       {"nan", "-nan", "inf", "-inf", "-0.01", "1", "1.5", "9e-10", "-1e-9"}) {
    ExpectRefused(id + "false_positive_rate=" + bad,
                  rate + "'" + bad + "'" + range);
  }
  for (const std::string bad : {"", "1%", "0,01", "0x1", "one", "1e-999"}) {
    ExpectRefused(id + "false_positive_rate=" + bad,
                  rate + "'" + bad + "' is not a number: use 0.000000001");
  }
  for (const std::string bad :
       {"0", "-1", "1M", "", "nan", "1.5", "none", "18446744073709551616"}) {
    ExpectRefused(id + "max_filter_bytes=" + bad,
                  "max_filter_bytes '" + bad +
                      "' is no number of bytes above 0: use unlimited");
  }
  // In whatever order, and whichever of them RocksDB hands over first.
  const std::string both = " are both given: use one of them";
  ExpectRefused(id + "bits_per_key=10;false_positive_rate=0.01",
                "bits_per_key=10 and false_positive_rate=0.01" + both);
  ExpectRefused(id + "false_positive_rate=0.01;bits_per_key=7",
                "bits_per_key=7 and false_positive_rate=0.01" + both);
  ExpectRefused("id=deltabloom:7;false_positive_rate=0.01",
                "bits_per_key=7 and false_positive_rate=0.01" + both);
  ExpectRefused(id + "bits_per_key=0;false_positive_rate=0.01",
                "bits_per_key=0 and false_positive_rate=0.01" + both);
}

TEST(RateOptions, BadOptionsInCode) {
  const auto expect_refused = [](const RocksDBFilterOptions& options,
                                 const std::string& answer) {
    std::string error;
    EXPECT_EQ(NewRocksDBFilterPolicy(options, &error), nullptr);
    EXPECT_NE(error.find(answer), std::string::npos) << error;
    EXPECT_EQ("deltabloom: " + options.Validate(), error);
  };
  RocksDBFilterOptions options;
  for (const double rate :
       {std::nan(""), std::numeric_limits<double>::infinity(), -0.01, 1.0, 1.5,
        1e-10}) {
    options.false_positive_rate = rate;
    expect_refused(options, "is out of range: use 0.000000001 to less than 1");
  }
  options.false_positive_rate = 0.01;
  options.bits_per_key = 9;
  expect_refused(options,
                 "bits_per_key = 9.000000 and false_positive_rate = 0.01 are "
                 "both given: use one of them");
  options = {};
  options.max_filter_bytes = 0;
  expect_refused(options, "max_filter_bytes = 0 leaves no room for a filter");
}

// Every combination, written and read again by RocksDB.
TEST(RateOptions, OptionsFileRoundTrip) {
  for (const std::string text :
       {"bits_per_key=9.9", "bits_per_key=0", "false_positive_rate=0.001",
        "false_positive_rate=0.001;max_filter_bytes=5000;layout=compact",
        "bits_per_key=12;max_filter_bytes=70"}) {
    SCOPED_TRACE(text);
    TempDir dir;
    const PolicyPtr policy = PolicyFromString("id=deltabloom;" + text);
    auto db = Open(MakeOptions({policy, false, nullptr}), dir.Path("db"));
    for (int again = 0; again < 2; ++again) {
      db.reset();
      ConfigOptions strict;
      strict.ignore_unknown_options = false;
      strict.ignore_unsupported_options = false;
      rocksdb::DBOptions db_options;
      std::vector<rocksdb::ColumnFamilyDescriptor> families;
      ASSERT_ROCKSDB_OK(rocksdb::LoadLatestOptions(strict, dir.Path("db"),
                                                   &db_options, &families));
      const rocksdb::Options loaded(db_options, families[0].options);
      ASSERT_NE(PolicyIn(loaded), nullptr);
      for (const char* name : {"bits_per_key", "false_positive_rate",
                               "max_filter_bytes", "layout"}) {
        EXPECT_EQ(Option(*PolicyIn(loaded), name), Option(*policy, name));
      }
      EXPECT_ROCKSDB_OK(rocksdb::CheckOptionsCompatibility(
          strict, dir.Path("db"), db_options, families));
      db = Open(loaded, dir.Path("db"));
    }
  }
}

class RateSetOptions : public ::testing::Test {
 protected:
  void SetUp() override {
    db_ = Open(MakeOptions({Deltabloom(8), false, nullptr}), dir_.Path("db"));
  }
  Status Set(const std::string& fields) {
    return db_->SetOptions(
        {{"block_based_table_factory", "{filter_policy={" + fields + "}}"}});
  }
  Status SetField(const std::string& name, const std::string& value) {
    return db_->SetOptions(
        {{"table_factory.filter_policy.deltabloom." + name, value}});
  }
  void ExpectInUse(const std::string& bits_per_key, const std::string& rate) {
    const PolicyPtr now = PolicyIn(db_->GetOptions());
    EXPECT_EQ(Option(*now, "bits_per_key"), bits_per_key);
    EXPECT_EQ(Option(*now, "false_positive_rate"), rate);
  }

  TempDir dir_;
  std::unique_ptr<rocksdb::DB> db_;
};

TEST_F(RateSetOptions, ByItsWholeNameTheLastCounts) {
  ASSERT_ROCKSDB_OK(SetField("false_positive_rate", "0.01"));
  ExpectInUse("unset", "0.01");
  ASSERT_ROCKSDB_OK(SetField("bits_per_key", "12"));
  ExpectInUse("12", "0");
  ASSERT_ROCKSDB_OK(SetField("false_positive_rate", "0.001"));
  ASSERT_ROCKSDB_OK(SetField("false_positive_rate", "0"));
  ExpectInUse("12", "0");
  ASSERT_ROCKSDB_OK(SetField("max_filter_bytes", "1000"));
  EXPECT_FALSE(SetField("max_filter_bytes", "0").ok());
  EXPECT_FALSE(SetField("false_positive_rate", "2").ok());
  ExpectInUse("12", "0");
  EXPECT_EQ(Option(*PolicyIn(db_->GetOptions()), "max_filter_bytes"), "1000");
}

// From 9.8 on RocksDB adds the options that were not named, so there both have
// to be.
TEST_F(RateSetOptions, InBracesOneUnsetsTheOther) {
#if ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR >= 908
  const std::string alone = "false_positive_rate=0.01;";
#else
  const std::string alone = "bits_per_key=8;false_positive_rate=0.01;";
#endif
  const Status status = Set(alone);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.ToString().find(
                "bits_per_key=8 and false_positive_rate=0.01 are both given: "
                "use one of them, with bits_per_key=unset or "),
            std::string::npos)
      << status.ToString();
  ASSERT_ROCKSDB_OK(Set("bits_per_key=unset;false_positive_rate=0.01;"));
  ExpectInUse("unset", "0.01");
  ASSERT_ROCKSDB_OK(Set("max_filter_bytes=5000;"));
  ExpectInUse("unset", "0.01");
  ASSERT_ROCKSDB_OK(Set("bits_per_key=7;false_positive_rate=0;"));
  ExpectInUse("7", "0");
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
