// detect_filter_construct_corruption in a database: a filter that is damaged
// while it is built makes the flush fail, and nothing of it is written.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>

#include "tests/rocksdb/delegating_policy.h"
#include "tests/rocksdb/test_db.h"

namespace deltabloom::testing {
namespace {

using rocksdb::Slice;
using rocksdb::Status;

// Flips a byte of the filter between Finish and MaybePostVerify.
class FlippingBuilder : public DelegatingBuilder {
 public:
  using DelegatingBuilder::DelegatingBuilder;
  using DelegatingBuilder::Finish;

  Slice Finish(std::unique_ptr<const char[]>* owner, Status* status) override {
    const Slice filter = DelegatingBuilder::Finish(owner, status);
    char& byte = const_cast<char&>(filter.data()[filter.size() / 2]);
    byte = static_cast<char>(~byte);
    return filter;
  }
};

// Parameters: partitioned, layout.
class ConstructionCorruptionTest
    : public ::testing::TestWithParam<std::tuple<bool, std::string>> {
 protected:
  DbConfig MakeConfig(bool flip, bool detect) const {
    DbConfig config;
    config.partitioned = std::get<0>(GetParam());
    config.policy =
        PolicyFromString("deltabloom:10:" + std::get<1>(GetParam()));
    if (flip) {
      config.policy =
          std::make_shared<DelegatingPolicy<FlippingBuilder>>(config.policy);
    }
    config.change = [detect](rocksdb::Options*,
                             rocksdb::BlockBasedTableOptions* table) {
      table->detect_filter_construct_corruption = detect;
    };
    return config;
  }

  static void Put(rocksdb::DB* db) {
    for (int i = 0; i < 1000; ++i) {
      ASSERT_ROCKSDB_OK(db->Put({}, Key(2 * i), Value(Key(2 * i))));
    }
  }

  TempDir dir_;
};

INSTANTIATE_TEST_SUITE_P(
    Policies, ConstructionCorruptionTest,
    ::testing::Combine(::testing::Bool(), ::testing::ValuesIn(LayoutNames())));

TEST_P(ConstructionCorruptionTest, FlushFailsAndWritesNothing) {
  const auto db = Open(MakeOptions(MakeConfig(true, true)), dir_.Path("db"));
  Put(db.get());
  const Status status = db->Flush({});
  EXPECT_TRUE(status.IsCorruption()) << status.ToString();
  EXPECT_NE(status.ToString().find("deltabloom: a filter changed"),
            std::string::npos);
  std::string files;
  ASSERT_TRUE(db->GetProperty("rocksdb.num-files-at-level0", &files));
  EXPECT_EQ(files, "0");
}

// The test is one: without detection the damage goes through and loses keys.
TEST_P(ConstructionCorruptionTest, GoesUnseenWithoutDetection) {
  const auto db = Open(MakeOptions(MakeConfig(true, false)), dir_.Path("db"));
  Put(db.get());
  ASSERT_ROCKSDB_OK(db->Flush({}));
  EXPECT_GT(GetAll(db.get(), 0, 1000).missed, 0);
}

TEST_P(ConstructionCorruptionTest, SoundFiltersPass) {
  const auto db = Open(MakeOptions(MakeConfig(false, true)), dir_.Path("db"));
  Put(db.get());
  ASSERT_ROCKSDB_OK(db->Flush({}));
  ExpectFiltered(GetAll(db.get(), 0, 1000), 1000);
}

}  // namespace
}  // namespace deltabloom::testing
