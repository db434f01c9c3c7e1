// A database goes from RocksDB's filters to ours and back: no key is lost, no
// filter that could serve is left unused.
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "rocksdb/filter_policy.h"
#include "tests/rocksdb/test_db.h"

namespace deltabloom::testing {
namespace {

constexpr int kKeys = 2000;

struct Stock {
  const char* name;
  PolicyPtr (*make)();
};

PolicyPtr MakeBloom() { return RocksDBBloom(); }
PolicyPtr MakeRibbon() { return RocksDBRibbon(); }
PolicyPtr MakeLegacyBloom() {
  return PolicyFromString("rocksdb.internal.LegacyBloomFilter:10");
}

// Parameters: partitioned, RocksDB's policy, layout of ours.
class MigrationTest
    : public ::testing::TestWithParam<std::tuple<bool, Stock, std::string>> {
 protected:
  std::unique_ptr<rocksdb::DB> OpenWith(const PolicyPtr& policy) {
    DbConfig config;
    config.partitioned = std::get<0>(GetParam());
    config.policy = policy;
    return Open(MakeOptions(config), dir_.Path("db"));
  }
  static PolicyPtr StockPolicy() { return std::get<1>(GetParam()).make(); }
  static PolicyPtr Ours(const std::string& compatibility = "builtin") {
    return PolicyFromString("id=deltabloom:10:" + std::get<2>(GetParam()) +
                            ";compatibility=" + compatibility);
  }

  TempDir dir_;
};

INSTANTIATE_TEST_SUITE_P(
    Policies, MigrationTest,
    ::testing::Combine(::testing::Bool(),
                       ::testing::Values(Stock{"Bloom", MakeBloom},
                                         Stock{"Ribbon", MakeRibbon},
                                         Stock{"LegacyBloom", MakeLegacyBloom}),
                       ::testing::ValuesIn(LayoutNames())),
    [](const auto& test) {
      return std::string(std::get<0>(test.param) ? "Partitioned" : "Full") +
             std::get<1>(test.param).name + "_" + std::get<2>(test.param);
    });

TEST_P(MigrationTest, TheirFiltersServeUnderOurs) {
  Load(OpenWith(StockPolicy()).get(), 0, kKeys);
  const auto db = OpenWith(Ours());
  ExpectFiltered(GetAll(db.get(), 0, kKeys), kKeys);
  ExpectFiltered(MultiGetAll(db.get(), 0, kKeys), kKeys);
  // Both kinds side by side, then all rewritten as ours.
  Load(db.get(), kKeys / 2, 2 * kKeys);
  ExpectFiltered(GetAll(db.get(), 0, 2 * kKeys), 2 * kKeys);
  ASSERT_ROCKSDB_OK(db->CompactRange({}, nullptr, nullptr));
  ExpectFiltered(GetAll(db.get(), 0, 2 * kKeys), 2 * kKeys);
}

TEST_P(MigrationTest, StockReadsEveryKeyOfOurs) {
  Load(OpenWith(Ours()).get(), 0, kKeys);
  const auto db = OpenWith(StockPolicy());
  const Lookups lookups = GetAll(db.get(), 0, kKeys);
  ExpectNoneMissed(lookups);
  EXPECT_EQ(lookups.useful, 0u);  // ours match always
  ExpectNoneMissed(MultiGetAll(db.get(), 0, kKeys));
  // Compaction builds stock's own.
  rocksdb::CompactRangeOptions all;
  all.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
  ASSERT_ROCKSDB_OK(db->CompactRange(all, nullptr, nullptr));
  ExpectFiltered(GetAll(db.get(), 0, kKeys), kKeys);
}

TEST_P(MigrationTest, ThereAndBackAgain) {
  Load(OpenWith(StockPolicy()).get(), 0, kKeys);
  Load(OpenWith(Ours()).get(), kKeys, 2 * kKeys);
  {
    const auto db = OpenWith(StockPolicy());
    ExpectFiltered(GetAll(db.get(), 0, kKeys), kKeys);
    ExpectNoneMissed(GetAll(db.get(), kKeys, 2 * kKeys));
  }
  const auto db = OpenWith(Ours());
  ExpectFiltered(GetAll(db.get(), 0, 2 * kKeys), 2 * kKeys);
}

TEST_P(MigrationTest, OwnNameIgnoresTheirFilters) {
  Load(OpenWith(StockPolicy()).get(), 0, kKeys);
  Load(OpenWith(Ours()).get(), kKeys, 2 * kKeys);
  const auto db = OpenWith(Ours("own"));
  const Lookups lookups = GetAll(db.get(), 0, 2 * kKeys);
  ExpectNoneMissed(lookups);
  EXPECT_EQ(lookups.useful, 0u);
  Load(db.get(), 2 * kKeys, 3 * kKeys);
  ExpectFiltered(GetAll(db.get(), 2 * kKeys, 3 * kKeys), kKeys);
}

TEST_P(MigrationTest, StockIgnoresOwnName) {
  Load(OpenWith(Ours("own")).get(), 0, kKeys);
  const auto db = OpenWith(StockPolicy());
  const Lookups lookups = GetAll(db.get(), 0, kKeys);
  ExpectNoneMissed(lookups);
  EXPECT_EQ(lookups.useful, 0u);
}

TEST_P(MigrationTest, WithoutAnyPolicy) {
  Load(OpenWith(Ours()).get(), 0, kKeys);
  ExpectNoneMissed(GetAll(OpenWith(nullptr).get(), 0, kKeys));
}

}  // namespace
}  // namespace deltabloom::testing
