// The option range: in text, in code, in OPTIONS files, by SetOptions.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "rocksdb/utilities/options_util.h"
#include "tests/rocksdb/range_db.h"

namespace deltabloom::testing {
namespace {

using rocksdb::Status;

constexpr char kWithTransform[] =
    "range=on and a key_transform are both given, which does not keep the "
    "order of keys: use one of them";
constexpr char kWithRate[] =
    "range=on and false_positive_rate are both given: use bits_per_key";

void ExpectRefused(const std::string& text, const std::string& answer) {
  PolicyPtr policy;
  const Status status = rocksdb::FilterPolicy::CreateFromString(
      rocksdb::ConfigOptions(), text, &policy);
  EXPECT_TRUE(status.IsInvalidArgument()) << text;
  EXPECT_NE(status.ToString().find(answer), std::string::npos)
      << text << ": " << status.ToString();
}

TEST(RangeOptionsTest, InText) {
  struct Case {
    const char* text;
    const char* layout;
    const char* range;
  };
  for (const Case& good : std::vector<Case>{
           {"id=deltabloom:18;range=on", "auto", "on"},
           {"id=deltabloom:18:auto:levels;range=true", "auto", "on"},
           {"deltabloom:18:local", "local", "off"},
           {"id=deltabloom;range=1", "auto", "on"},
           {"id=deltabloom;range=false", "auto", "off"},
           {"id=deltabloom;range=0", "auto", "off"},
           {"id=deltabloom;layout=compact;range=on", "compact", "on"},
           {"id=deltabloom;range=on;layout=classic", "classic", "on"},
           {"id=deltabloom;range=off;layout=auto", "auto", "off"}}) {
    const PolicyPtr policy = PolicyFromString(good.text);
    EXPECT_EQ(Option(*policy, "layout"), good.layout) << good.text;
    EXPECT_EQ(Option(*policy, "range"), good.range) << good.text;
    // As it was read.
    std::string text;
    ASSERT_ROCKSDB_OK(policy->GetOptionString(rocksdb::ConfigOptions(), &text));
    EXPECT_EQ(Option(*PolicyFromString("id=deltabloom;" + text), "range"),
              good.range)
        << text;
  }
}

TEST(RangeOptionsTest, WrongText) {
  for (const std::string bad : {"", "yes", "On", "2", "no"}) {
    ExpectRefused("id=deltabloom;range=" + bad,
                  "range '" + bad + "' is unknown: use on or off");
  }
  ExpectRefused("id=deltabloom;layout=range",
                "layout 'range' is unknown: use classic");
  ExpectRefused("id=deltabloom;range=on;key_transform=ascii_lowercase",
                kWithTransform);
  ExpectRefused("id=deltabloom;range=on;false_positive_rate=0.01", kWithRate);
}

TEST(RangeOptionsTest, InCode) {
  RocksDBFilterOptions options;
  EXPECT_FALSE(options.range);
  options.range = true;
  EXPECT_EQ(options.Validate(), "");
  EXPECT_EQ(Option(*NewRocksDBFilterPolicy(options), "range"), "on");
  options.false_positive_rate = 0.01;
  EXPECT_EQ(options.Validate().find(kWithRate), 0u);
  options.false_positive_rate = 0;
  options.key_transform = "ascii_lowercase";
  EXPECT_EQ(options.Validate(), kWithTransform);
}

TEST(RangeOptionsTest, OneCallSetsAllThatRangesNeed) {
  RocksDBFilterOptions filters;
  filters.range = true;
  rocksdb::Options options;
  std::string error;
  ASSERT_TRUE(AddRocksDBFilters(filters, &options, &options, &error)) << error;
  ASSERT_NE(options.prefix_extractor, nullptr);
  EXPECT_STREQ(options.prefix_extractor->Name(), "deltabloom.Range");
  EXPECT_EQ(Option(*PolicyIn(options), "range"), "on");
  EXPECT_EQ(options.listeners.size(), 1u);
  EXPECT_TRUE(CheckRocksDBFilters(options, &error)) << error;
  filters.range = false;
  rocksdb::Options without;
  ASSERT_TRUE(AddRocksDBFilters(filters, &without, &without));
  EXPECT_EQ(without.prefix_extractor, nullptr);
}

TEST(RangeOptionsTest, OptionsFilesKeepBoth) {
  const TempDir dir;
  rocksdb::Options options = RangeOptions("id=deltabloom:18;range=on");
  Open(options, dir.Path("db")).reset();
  rocksdb::DBOptions db_options;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  ASSERT_ROCKSDB_OK(rocksdb::LoadLatestOptions(
      rocksdb::ConfigOptions(), dir.Path("db"), &db_options, &families));
  const rocksdb::Options loaded(db_options, families[0].options);
  ASSERT_NE(loaded.prefix_extractor, nullptr);
  EXPECT_EQ(loaded.prefix_extractor->AsString(), "deltabloom.Range");
  EXPECT_EQ(Option(*PolicyIn(loaded), "range"), "on");
  Open(loaded, dir.Path("db")).reset();
}

TEST(RangeOptionsTest, SetOptions) {
  const TempDir dir;
  rocksdb::Options options = RangeOptions("deltabloom:18:auto");
  const auto db = Open(options, dir.Path("db"));
  const auto set = [&](const std::string& name, const std::string& value) {
    return db->SetOptions(
        {{"table_factory.filter_policy.deltabloom." + name, value}});
  };
  const auto range = [&] {
    return Option(*PolicyIn(db->GetOptions()), "range");
  };
  ASSERT_ROCKSDB_OK(set("range", "on"));
  EXPECT_EQ(range(), "on");
  EXPECT_FALSE(set("false_positive_rate", "0.01").ok());
  EXPECT_FALSE(set("range", "yes").ok());
  EXPECT_EQ(range(), "on");
  for (int i = 0; i < 500; ++i) {
    ASSERT_ROCKSDB_OK(
        db->Put({}, NumberKey(static_cast<uint64_t>(i) << 30), ""));
  }
  ASSERT_ROCKSDB_OK(db->Flush({}));
  for (uint64_t i = 0; i < 500; ++i) {
    const uint64_t middle = (i << 30) + (1 << 29);
    EXPECT_EQ(Scan(db.get(), NumberKey(middle + 1000)).First(NumberKey(middle)),
              "none");
  }
  EXPECT_GT(CountedBy(db->GetOptions()).range_negatives, 400u);
  ASSERT_ROCKSDB_OK(set("range", "off"));
  EXPECT_EQ(range(), "off");
}

}  // namespace
}  // namespace deltabloom::testing
