// SetOptions on the policy of an open database, in each way that RocksDB
// accepts. Nothing here registers the policy by a call: making one has to be
// enough.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "deltabloom/filter.h"
#include "deltabloom/rocksdb.h"
#include "tests/rocksdb/test_db.h"

namespace deltabloom::testing {
namespace {

// True if SetOptions makes a new policy instead of changing the old one.
// RocksDB then adds the options that are not named.
#if ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR >= 908
constexpr bool kNewPolicy = true;
#else
constexpr bool kNewPolicy = false;
#endif

RocksDBFilterOptions OwnLocal() {
  RocksDBFilterOptions options;
  options.bits_per_key = 8;
  options.layout = Layout::kLocal;
  options.compatibility = RocksDBCompatibility::kOwn;
  options.max_build_bytes = 1 << 20;
  return options;
}

class SetOptionsTest : public ::testing::Test {
 protected:
  explicit SetOptionsTest(const RocksDBFilterOptions& options = OwnLocal())
      : policy_(NewRocksDBFilterPolicy(options)) {
    EXPECT_NE(policy_, nullptr);
    db_.Open(policy_);
    db_.Load(0, kKeys);
  }

  // Prints four options of the policy in use: bits_per_key, layout,
  // compatibility, max_build_bytes.
  std::string Main() {
    return db_.Option("bits_per_key") + " " + db_.Option("layout") + " " +
           db_.Option("compatibility") + " " + db_.Option("max_build_bytes");
  }
  std::string BothBits() {
    return db_.Option("bits_per_key") + " " + db_.Option("upper_bits_per_key");
  }
  PolicyPtr InUse() { return PolicyIn(db_->GetOptions()); }

  // Expects that tables written now have filters of these bits per key, and
  // that those and the older ones are used.
  void ExpectNextFilters(double bits_per_key) {
    db_.Load(loaded_, loaded_ + kKeys);
    loaded_ += kKeys;
    db_.ExpectFiltered(0, loaded_);
    const auto tables = db_.Tables();
    std::string newest;
    for (const auto& table : tables) newest = std::max(newest, table.first);
    const rocksdb::TableProperties& properties = *tables.at(newest);
    EXPECT_EQ(properties.filter_policy_name, "deltabloom");
    EXPECT_EQ(properties.num_filter_entries, uint64_t{kKeys});
    // Rounded to lines of 64 bytes, with the framing, and what
    // optimize_filters_for_memory may add.
    EXPECT_GT(static_cast<double>(properties.filter_size),
              kKeys * bits_per_key / 8 * 0.95);
    EXPECT_LT(static_cast<double>(properties.filter_size),
              kKeys * bits_per_key / 8 * 1.2 + 100);
  }

  // Checks the value with which a reopened database would start.
  void ExpectInFile(const std::string& name, const std::string& value) {
    EXPECT_EQ(Option(*PolicyIn(db_.Loaded(/*strict=*/false)), name), value);
  }

  static constexpr int kKeys = 2000;
  TestDb db_;
  const PolicyPtr policy_;
  int loaded_ = kKeys;
};

struct SetOptionsOfDefaultsTest : SetOptionsTest {
  SetOptionsOfDefaultsTest() : SetOptionsTest(RocksDBFilterOptions()) {}
};

TEST_F(SetOptionsTest, FieldByItsWholeName) {
  EXPECT_EQ(Main(), "8 local own 1048576");
  ASSERT_OK(db_.SetField("bits_per_key", "20"));
  EXPECT_EQ(Main(), "20 local own 1048576");
  EXPECT_EQ(InUse(), policy_);
  ExpectNextFilters(20);
  ASSERT_OK(db_.SetField("max_build_bytes", "0"));
  const char* const fields[][2] = {{"layout", "classic"},
                                   {"payload_check", "on"},
                                   {"upper_bits_per_key", "22"},
                                   {"statistics", "off"},
                                   {"seeded", "on"},
                                   {"statistics_log_seconds", "7"}};
  for (const auto& [name, value] : fields) {
    ASSERT_OK(db_.SetField(name, value));
    EXPECT_EQ(db_.Option(name), value);
  }
  EXPECT_EQ(Main(), "20 classic own 0");
  ExpectInFile("bits_per_key", "20");
  for (const auto& [name, value] : fields) ExpectInFile(name, value);
}

TEST_F(SetOptionsTest, BadFieldByItsWholeNameIsRefused) {
  const char* const cases[][3] = {
      {"bits_per_key", "nan", "bits_per_key 'nan' is not valid: use 0"},
      {"layout", "cuckoo", "layout 'cuckoo' is not valid: use classic"},
      {"compatibility", "builtin", "compatibility"},
      {"bits", "10", ""},
      {"statistics", "", "statistics '' is not valid: use on or off"},
      {"seeded", "yes", "seeded 'yes' is not valid: use on or off"},
  };
  for (const auto& [name, value, answer] : cases) {
    SCOPED_TRACE(std::string(name) + "=" + value);
    // RocksDB leaves out empty values then: they change nothing.
    if (kNewPolicy && value[0] == '\0') continue;
    const Status status = db_.SetField(name, value);
    EXPECT_FALSE(status.ok());
    EXPECT_CONTAINS(status.ToString(), answer);
    EXPECT_EQ(Main(), "8 local own 1048576");
  }
  EXPECT_EQ(InUse(), policy_);
  EXPECT_STREQ(policy_->CompatibilityName(), "deltabloom.SealedFilter");
  ExpectNextFilters(8);
}

// Values that conflict on the way from one valid pair to the other.
TEST_F(SetOptionsTest, FieldsInBracesAreValidatedTogether) {
  for (const char* text : {"{bits_per_key=20;upper_bits_per_key=22;}",
                           "{upper_bits_per_key=8;bits_per_key=7;}",
                           "{bits_per_key=12;upper_bits_per_key=12;}"}) {
    EXPECT_OK(db_.SetPolicy(text));
  }
  EXPECT_EQ(BothBits(), "12 12");
  EXPECT_CONTAINS(db_.SetField("bits_per_key", "13").ToString(),
                  "upper_bits_per_key=12 is less than bits_per_key=13");
  ASSERT_OK(db_.SetPolicy("{upper_bits_per_key=unset;bits_per_key=13;}"));
  EXPECT_EQ(BothBits(), "13 unset");
}

TEST_F(SetOptionsTest, FieldsInBraces) {
  ASSERT_OK(db_.SetPolicy("{bits_per_key=20;max_build_bytes=0;}"));
  // Fields that were not named stay.
  EXPECT_EQ(Main(), "20 local own 0");
  EXPECT_EQ(InUse() != policy_, kNewPolicy);
  ExpectNextFilters(20);
  ASSERT_OK(db_.SetPolicy("{id=deltabloom;layout=classic;}"));
  EXPECT_EQ(Main(), "20 classic own 0");
  ExpectInFile("bits_per_key", "20");
  ExpectInFile("layout", "classic");
}

// RocksDB drops the error from 9.8 on, and uses a policy that has the default
// of the bad field: the call fails nevertheless, and the OPTIONS file stays.
TEST_F(SetOptionsTest, BadFieldsInBracesAreRefused) {
  for (const char* bad : {"{bits_per_key=nan;}", "{layout=cuckoo;}",
                          "{bits_per_key=12;layout=cuckoo}", "{bits=10}",
                          "{id=deltabloom;max_build_bytes=1X;}"}) {
    EXPECT_FALSE(db_.SetPolicy(bad).ok()) << bad;
    ASSERT_NE(InUse(), nullptr);
    EXPECT_STREQ(InUse()->CompatibilityName(), "deltabloom.SealedFilter");
    ExpectInFile("bits_per_key", "8");
    ExpectInFile("layout", "local");
    // A good one replaces it, and is kept.
    ASSERT_OK(
        db_.SetPolicy("{bits_per_key=8;layout=local;max_build_bytes=1048576}"));
    EXPECT_EQ(Main(), "8 local own 1048576");
  }
  ExpectNextFilters(8);
}

TEST_F(SetOptionsTest, ErrorSaysWhatIsWrong) {
  EXPECT_CONTAINS(db_.SetPolicy("{bits_per_key=nan;}").ToString(),
                  "deltabloom: bits_per_key 'nan' is not valid: use 0 to 1000");
  if (!kNewPolicy) return;
  // And so does the LOG, if the next table is written with that policy.
  ExpectNextFilters(10);
  EXPECT_CONTAINS(
      db_.Log(),
      "[deltabloom] not as it was set: deltabloom: bits_per_key 'nan'");
}

TEST_F(SetOptionsOfDefaultsTest, WholePolicy) {
  const Status status = db_.SetPolicy("deltabloom:20:local");
  EXPECT_EQ(status.ok(), kNewPolicy) << status.ToString();
  if (!kNewPolicy) {
    EXPECT_EQ(Main(), "10 compact builtin 0");
    return;
  }
  EXPECT_EQ(Main(), "20 local builtin 0");
  ExpectNextFilters(20);
  ExpectInFile("bits_per_key", "20");
  EXPECT_CONTAINS(db_.SetPolicy("deltabloom:nan").ToString(),
                  "deltabloom: bits_per_key 'nan' is not valid");
  ExpectInFile("bits_per_key", "20");
  ASSERT_OK(db_.SetPolicy("deltabloom:12:local"));
  EXPECT_EQ(Main(), "12 local builtin 0");
}

TEST_F(SetOptionsTest, OtherTableOptions) {
  ASSERT_OK(
      db_->SetOptions({{"block_based_table_factory", "{block_size=8192;}"}}));
  EXPECT_EQ(InUse(), policy_);
  EXPECT_EQ(Main(), "8 local own 1048576");
  ExpectNextFilters(8);
}

}  // namespace
}  // namespace deltabloom::testing
