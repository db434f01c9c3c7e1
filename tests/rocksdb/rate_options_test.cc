// false_positive_rate and max_filter_bytes as options: in text, in code, in
// OPTIONS files, and by SetOptions.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "rocksdb/utilities/options_util.h"
#include "tests/rocksdb/test_db.h"

namespace deltabloom::testing {
namespace {

using rocksdb::ConfigOptions;
using rocksdb::FilterPolicy;
using rocksdb::Status;

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
                 "bits_per_key=9 and false_positive_rate=0.01 are both given: "
                 "use one of them");
  options = {};
  options.max_filter_bytes = 0;
  expect_refused(options, "max_filter_bytes '0' is no number of bytes above 0");
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

}  // namespace
}  // namespace deltabloom::testing
