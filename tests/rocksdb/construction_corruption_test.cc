// detect_filter_construct_corruption in a database: a filter that is damaged
// while it is built makes the flush fail, and nothing of it is written.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "engines/rocksdb/private_abi.h"
#include "tests/rocksdb/test_db.h"

namespace deltabloom::testing {
namespace {

using rocksdb::FilterBitsBuilder;
using rocksdb::FilterBitsReader;
using rocksdb::FilterPolicy;
using rocksdb::Slice;
using rocksdb::Status;

// Flips a byte of the filter between Finish and MaybePostVerify.
class FlippingBuilder : public FilterBitsBuilder {
 public:
  explicit FlippingBuilder(FilterBitsBuilder* builder) : builder_(builder) {}

  void AddKey(const Slice& key) override { builder_->AddKey(key); }
#if DELTABLOOM_ROCKSDB_HAS_ADD_KEY_AND_ALT
  void AddKeyAndAlt(const Slice& key, const Slice& alt) override {
    builder_->AddKeyAndAlt(key, alt);
  }
#endif
  size_t EstimateEntriesAdded() override {
    return builder_->EstimateEntriesAdded();
  }
  Slice Finish(std::unique_ptr<const char[]>* owner) override {
    return Finish(owner, nullptr);
  }
  Slice Finish(std::unique_ptr<const char[]>* owner, Status* status) override {
    const Slice filter = builder_->Finish(owner, status);
    char& byte = const_cast<char&>(filter.data()[filter.size() / 2]);
    byte = static_cast<char>(~byte);
    return filter;
  }
  Status MaybePostVerify(const Slice& filter) override {
    return builder_->MaybePostVerify(filter);
  }
  size_t ApproximateNumEntries(size_t bytes) override {
    return builder_->ApproximateNumEntries(bytes);
  }
  size_t CalculateSpace(size_t entries) override {
    return builder_->CalculateSpace(entries);
  }
  double EstimatedFpRate(size_t entries, size_t bytes) override {
    return builder_->EstimatedFpRate(entries, bytes);
  }

 private:
  const std::unique_ptr<FilterBitsBuilder> builder_;
};

class FlippingPolicy : public FilterPolicy {
 public:
  explicit FlippingPolicy(PolicyPtr policy) : policy_(std::move(policy)) {}
  const char* Name() const override { return "flipping"; }
  const char* CompatibilityName() const override {
    return policy_->CompatibilityName();
  }
  FilterBitsBuilder* GetBuilderWithContext(
      const rocksdb::FilterBuildingContext& context) const override {
    return new FlippingBuilder(policy_->GetBuilderWithContext(context));
  }
  FilterBitsReader* GetFilterBitsReader(const Slice& filter) const override {
    return policy_->GetFilterBitsReader(filter);
  }

 private:
  const PolicyPtr policy_;
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
    if (flip) config.policy = std::make_shared<FlippingPolicy>(config.policy);
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
