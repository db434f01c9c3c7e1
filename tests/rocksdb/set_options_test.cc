// SetOptions on the policy of an open database, in each way that RocksDB takes
// it. Nothing here registers the policy: making one has to be enough.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "rocksdb/utilities/options_util.h"
#include "tests/rocksdb/test_db.h"

namespace deltabloom::testing {
namespace {

using rocksdb::Status;

// Whether SetOptions makes a new policy instead of changing the old one.
#if ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR >= 908
constexpr bool kNewPolicy = true;
#else
constexpr bool kNewPolicy = false;
#endif

class SetOptionsTest : public ::testing::Test {
 protected:
  void Open(const RocksDBFilterOptions& options) {
    policy_ = NewRocksDBFilterPolicy(options);
    ASSERT_NE(policy_, nullptr);
    db_ = testing::Open(MakeOptions({policy_, false, nullptr}), path_);
    Load(db_.get(), 0, kKeys);
  }

  // The policy's options within the braces of the table factory's.
  Status Set(const std::string& options) {
    return db_->SetOptions(
        {{"block_based_table_factory", "{filter_policy=" + options + "}"}});
  }
  // One of them by its whole name.
  Status SetField(const std::string& name, const std::string& value) {
    return db_->SetOptions(
        {{"table_factory.filter_policy.deltabloom." + name, value}});
  }

  void ExpectInUse(const std::string& bits_per_key, const std::string& layout,
                   const std::string& compatibility,
                   const std::string& max_build_bytes) {
    const PolicyPtr now = PolicyIn(db_->GetOptions());
    ASSERT_NE(now, nullptr);
    EXPECT_EQ(Option(*now, "bits_per_key"), bits_per_key);
    EXPECT_EQ(Option(*now, "layout"), layout);
    EXPECT_EQ(Option(*now, "compatibility"), compatibility);
    EXPECT_EQ(Option(*now, "max_build_bytes"), max_build_bytes);
  }

  // That tables written now have filters of so many bits per key, and that
  // those and the older ones are used.
  void ExpectNextFilters(double bits_per_key) {
    Load(db_.get(), loaded_, loaded_ + kKeys);
    loaded_ += kKeys;
    ExpectFiltered(GetAll(db_.get(), 0, loaded_), loaded_);
    rocksdb::TablePropertiesCollection tables;
    ASSERT_ROCKSDB_OK(db_->GetPropertiesOfAllTables(&tables));
    std::string newest;
    for (const auto& table : tables) newest = std::max(newest, table.first);
    const rocksdb::TableProperties& properties = *tables.at(newest);
    EXPECT_EQ(properties.filter_policy_name, "deltabloom");
    EXPECT_EQ(properties.num_filter_entries, uint64_t{kKeys});
    // With a rounding to lines of 64 bytes, the framing, and what
    // optimize_filters_for_memory may add.
    EXPECT_GT(static_cast<double>(properties.filter_size),
              kKeys * bits_per_key / 8 * 0.95);
    EXPECT_LT(static_cast<double>(properties.filter_size),
              kKeys * bits_per_key / 8 * 1.2 + 100);
  }

  // What a reopened database would start with.
  PolicyPtr InOptionsFile() {
    rocksdb::DBOptions db_options;
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    EXPECT_ROCKSDB_OK(rocksdb::LoadLatestOptions(
        rocksdb::ConfigOptions(), path_, &db_options, &families));
    return PolicyIn(rocksdb::Options(db_options, families.at(0).options));
  }

  static constexpr int kKeys = 2000;
  TempDir dir_;
  std::string path_ = dir_.Path("db");
  PolicyPtr policy_;
  std::unique_ptr<rocksdb::DB> db_;
  int loaded_ = kKeys;
};

RocksDBFilterOptions OwnLocal() {
  RocksDBFilterOptions options;
  options.bits_per_key = 8;
  options.layout = Layout::kLocal;
  options.compatibility = RocksDBCompatibility::kOwn;
  options.max_build_bytes = 1 << 20;
  return options;
}

TEST_F(SetOptionsTest, FieldByItsWholeName) {
  Open(OwnLocal());
  ExpectInUse("8", "local", "own", "1048576");
  ASSERT_ROCKSDB_OK(SetField("bits_per_key", "20"));
  ExpectInUse("20", "local", "own", "1048576");
  EXPECT_EQ(PolicyIn(db_->GetOptions()), policy_);
  ExpectNextFilters(20);
  ASSERT_ROCKSDB_OK(SetField("layout", "classic"));
  ASSERT_ROCKSDB_OK(SetField("max_build_bytes", "0"));
  ASSERT_ROCKSDB_OK(SetField("payload_check", "true"));
  ASSERT_ROCKSDB_OK(SetField("allocation", "levels"));
  EXPECT_EQ(Option(*InOptionsFile(), "allocation"), "levels");
  ExpectInUse("20", "classic", "own", "0");
  EXPECT_EQ(Option(*InOptionsFile(), "payload_check"), "on");
  EXPECT_EQ(Option(*InOptionsFile(), "bits_per_key"), "20");
  EXPECT_EQ(Option(*InOptionsFile(), "layout"), "classic");
}

TEST_F(SetOptionsTest, BadFieldByItsWholeNameIsRefused) {
  Open(OwnLocal());
  struct Case {
    const char* name;
    const char* value;
    const char* answer;
  };
  for (const Case& bad : std::initializer_list<Case>{
           {"bits_per_key", "nan", "bits_per_key 'nan' is out of range: use 0"},
           {"bits_per_key", "-1", "bits_per_key '-1' is out of range: use 0"},
           {"bits_per_key", "ten", "bits_per_key 'ten' is not a number: use 0"},
           {"layout", "cuckoo", "layout 'cuckoo' is unknown: use classic"},
           {"max_build_bytes", "1M", "max_build_bytes '1M' is not a number"},
           {"payload_check", "2", "payload_check '2' is unknown: use on"},
           {"allocation", "all", "allocation 'all' is unknown: use uniform"},
           {"compatibility", "builtin", "compatibility"},
           {"bits", "10", ""},
       }) {
    const Status status = SetField(bad.name, bad.value);
    EXPECT_FALSE(status.ok()) << bad.name << "=" << bad.value;
    EXPECT_NE(status.ToString().find(bad.answer), std::string::npos)
        << status.ToString();
    ExpectInUse("8", "local", "own", "1048576");
  }
  EXPECT_EQ(PolicyIn(db_->GetOptions()), policy_);
  EXPECT_STREQ(policy_->CompatibilityName(), "deltabloom.SealedFilter");
  ExpectNextFilters(8);
}

TEST_F(SetOptionsTest, FieldsInBraces) {
  Open(OwnLocal());
  ASSERT_ROCKSDB_OK(Set("{bits_per_key=20;max_build_bytes=0;}"));
  // Fields that were not named stay.
  ExpectInUse("20", "local", "own", "0");
  EXPECT_EQ(PolicyIn(db_->GetOptions()) != policy_, kNewPolicy);
  ExpectNextFilters(20);
  ASSERT_ROCKSDB_OK(Set("{id=deltabloom;layout=classic;}"));
  ExpectInUse("20", "classic", "own", "0");
  EXPECT_EQ(Option(*InOptionsFile(), "bits_per_key"), "20");
  EXPECT_EQ(Option(*InOptionsFile(), "layout"), "classic");
}

// RocksDB drops the error from 9.8 on, and takes over a policy that has the bad
// field's default: the call fails nevertheless, and the OPTIONS file stays.
TEST_F(SetOptionsTest, BadFieldsInBracesAreRefused) {
  Open(OwnLocal());
  for (const char* bad : {"{bits_per_key=nan;}", "{layout=cuckoo;}",
                          "{bits_per_key=12;layout=cuckoo}", "{bits=10}",
                          "{id=deltabloom;max_build_bytes=1M;}"}) {
    EXPECT_FALSE(Set(bad).ok()) << bad;
    const PolicyPtr now = PolicyIn(db_->GetOptions());
    ASSERT_NE(now, nullptr);
    EXPECT_STREQ(now->CompatibilityName(), "deltabloom.SealedFilter");
    EXPECT_EQ(Option(*InOptionsFile(), "bits_per_key"), "8");
    EXPECT_EQ(Option(*InOptionsFile(), "layout"), "local");
    // A good one mends it, and is kept.
    ASSERT_ROCKSDB_OK(
        Set("{bits_per_key=8;layout=local;max_build_bytes=1048576}"));
    ExpectInUse("8", "local", "own", "1048576");
  }
  ExpectNextFilters(8);
}

TEST_F(SetOptionsTest, ErrorSaysWhatIsWrong) {
  Open(OwnLocal());
  const Status status = Set("{bits_per_key=nan;}");
  EXPECT_NE(
      status.ToString().find(
          "deltabloom: bits_per_key 'nan' is out of range: use 0 to 1000"),
      std::string::npos)
      << status.ToString();
  if (!kNewPolicy) return;
  // And so does the LOG, if the next table is written with that policy.
  ExpectNextFilters(10);
  EXPECT_NE(
      ReadFile(path_ + "/LOG")
          .find(
              "[deltabloom] not as it was set: deltabloom: bits_per_key 'nan'"),
      std::string::npos);
}

TEST_F(SetOptionsTest, WholePolicy) {
  Open({});
  const Status status = Set("deltabloom:20:local");
  EXPECT_EQ(status.ok(), kNewPolicy) << status.ToString();
  if (!kNewPolicy) {
    ExpectInUse("10", "auto", "builtin", "0");
    return;
  }
  ExpectInUse("20", "local", "builtin", "0");
  ExpectNextFilters(20);
  EXPECT_EQ(Option(*InOptionsFile(), "bits_per_key"), "20");

  const Status bad = Set("deltabloom:nan");
  EXPECT_FALSE(bad.ok());
  EXPECT_NE(
      bad.ToString().find("deltabloom: bits_per_key 'nan' is out of range"),
      std::string::npos)
      << bad.ToString();
  EXPECT_EQ(Option(*InOptionsFile(), "bits_per_key"), "20");
  ASSERT_ROCKSDB_OK(Set("deltabloom:12:local"));
  ExpectInUse("12", "local", "builtin", "0");
}

// Other options of the table factory leave the policy alone.
TEST_F(SetOptionsTest, OtherTableOptions) {
  Open(OwnLocal());
  const Status status =
      db_->SetOptions({{"block_based_table_factory", "{block_size=8192;}"}});
  ASSERT_ROCKSDB_OK(status);
  EXPECT_EQ(PolicyIn(db_->GetOptions()), policy_);
  ExpectInUse("8", "local", "own", "1048576");
  ExpectNextFilters(8);
}

}  // namespace
}  // namespace deltabloom::testing
