// A RocksDB of the right version that does not build filters as expected, as
// one with patches may: nothing of ours is used, and the error says why.
#include <gtest/gtest.h>

#include <string>

#include "deltabloom/rocksdb.h"
#include "rocksdb/filter_policy.h"
#include "tests/rocksdb/test_db.h"

namespace rocksdb {
namespace {

class WithoutBuilders final : public FilterPolicy {
 public:
  const char* Name() const override { return "WithoutBuilders"; }
  const char* CompatibilityName() const override { return Name(); }
  FilterBitsBuilder* GetBuilderWithContext(
      const FilterBuildingContext& /*context*/) const override {
    return nullptr;
  }
  FilterBitsReader* GetFilterBitsReader(
      const Slice& /*filter*/) const override {
    return nullptr;
  }
};

}  // namespace

// Takes the place of RocksDB's own in this program.
const FilterPolicy* NewBloomFilterPolicy(double /*bits_per_key*/,
                                         bool /*unused*/) {
  return new WithoutBuilders;
}

}  // namespace rocksdb

namespace deltabloom::testing {
namespace {

TEST(LibraryRefusedTest, NothingIsMadeOrRegistered) {
  const std::string problem =
      "does not build and read its own filters as expected (no builder): use "
      "an unmodified RocksDB of ";
  std::string error;
  EXPECT_EQ(NewRocksDBFilterPolicy({}, &error), nullptr);
  EXPECT_CONTAINS(error, problem);
  EXPECT_FALSE(RegisterRocksDB(&error));
  EXPECT_CONTAINS(error, problem);
}

}  // namespace
}  // namespace deltabloom::testing
