// Filters while they are built: their memory as the block cache sees it
// (kFilterConstruction), and detect_filter_construct_corruption.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>

#include "engines/rocksdb/policy/construction_charge.h"
#include "rocksdb/cache.h"
#include "rocksdb/sst_file_writer.h"
#include "tests/rocksdb/delegating_policy.h"
#include "tests/rocksdb/filters.h"
// Where newer releases declare what a Cache can do.
#if __has_include("rocksdb/advanced_cache.h")
#include "rocksdb/advanced_cache.h"
#endif

namespace deltabloom::testing {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
// What the cache charges at a time, and its own per entry.
constexpr uint64_t kSlack = kMiB;

void EnableCharge(BlockBasedTableOptions* table) {
#if ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR >= 703
  table->cache_usage_options.options_overrides.insert(
      {rocksdb::CacheEntryRole::kFilterConstruction,
       {rocksdb::CacheEntryRoleOptions::Decision::kEnabled}});
#else
  table->reserve_table_builder_memory = true;
#endif
}

class ConstructionChargeTest : public ::testing::TestWithParam<std::string> {
 protected:
  static constexpr int kKeys = 400000;

  BlockBasedTableOptions TableOptions(bool charge) {
    BlockBasedTableOptions table;
    table.block_cache = cache_;
    table.filter_policy = PolicyFromString("deltabloom:10:" + GetParam());
    if (charge) EnableCharge(&table);
    return table;
  }

  // A builder with kKeys keys that are quickly made: numbers.
  using BuilderPtr = std::unique_ptr<rocksdb::FilterBitsBuilder>;
  static BuilderPtr NewBuilder(const BlockBasedTableOptions& table) {
    BuilderPtr builder = NewBitsBuilder(*table.filter_policy, table);
    AddKeys(builder.get());
    return builder;
  }
  static void AddKeys(rocksdb::FilterBitsBuilder* builder) {
    for (int i = 0; i < kKeys; ++i) {
      builder->AddKey({reinterpret_cast<const char*>(&i), sizeof(i)});
    }
  }

  static uint64_t HashBytes(int keys) {
    return internal::FindLayoutOfName(GetParam())->hash_size *
           static_cast<uint64_t>(keys);
  }
  void ExpectCharged(uint64_t bytes) {
    EXPECT_GE(cache_->GetUsage(), bytes);
    EXPECT_LE(cache_->GetUsage(), bytes + kSlack);
  }

  const std::shared_ptr<rocksdb::Cache> cache_ =
      rocksdb::NewLRUCache(64 * kMiB, 0);
};

INSTANTIATE_TEST_SUITE_P(Layouts, ConstructionChargeTest,
                         ::testing::ValuesIn(LayoutNames()));

TEST_P(ConstructionChargeTest, FollowsABuilder) {
  BuilderPtr builder = NewBuilder(TableOptions(true));
  for (uint64_t filter = 0; filter < 2; ++filter) {
    // Filters that are finished stay charged while the builder lives.
    const uint64_t filters = uint64_t{kKeys} * 10 / 8 * filter;
    if (filter > 0) AddKeys(builder.get());
    ExpectCharged(HashBytes(kKeys) + filters);
    std::unique_ptr<const char[]> owner;
    EXPECT_GT(builder->Finish(&owner).size(), 400000u);
    EXPECT_GE(cache_->GetUsage(), filters + kKeys * 10 / 8);
    // RocksDB gives back late: from three quarters down.
    EXPECT_LE(cache_->GetUsage(), (filters + kKeys * 10 / 8) * 4 / 3 + kSlack);
  }
  builder.reset();
  EXPECT_EQ(cache_->GetUsage(), 0u);
}

// The filter is built all the same, and the cache stays within its limit.
TEST_P(ConstructionChargeTest, AbsorbsAStrictLimit) {
  auto table = TableOptions(true);
  const auto full = rocksdb::NewLRUCache(kMiB, 0, true);
  table.block_cache = full;
  BuilderPtr charged = NewBuilder(table);
  BuilderPtr free = NewBuilder(TableOptions(false));
  EXPECT_EQ(cache_->GetUsage(), 0u);
  EXPECT_GT(full->GetUsage(), kMiB / 2);
  EXPECT_LE(full->GetUsage(), kMiB);
  std::unique_ptr<const char[]> owner;
  std::unique_ptr<const char[]> other_owner;
  EXPECT_EQ(charged->Finish(&owner), free->Finish(&other_owner));
  charged.reset();
  EXPECT_EQ(full->GetUsage(), 0u);
}

// Through RocksDB: a large table while keys are added, finished, given up, and
// with an error.
TEST_P(ConstructionChargeTest, FollowsATable) {
  enum { kFinish, kGiveUp, kFail };
  for (const int end : {kFinish, kGiveUp, kFail}) {
    TempDir dir;
    Options options;
    // What takes time here is RocksDB's table, not the filter.
    options.compression = rocksdb::kNoCompression;
    BlockBasedTableOptions table = TableOptions(true);
    table.checksum = rocksdb::kNoChecksum;
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    // The errors come with a table that has only begun to be large.
    const int keys = end == kFinish ? kKeys : kKeys / 4;
    auto writer = std::make_unique<rocksdb::SstFileWriter>(
        rocksdb::EnvOptions(), options);
    ASSERT_OK(writer->Open(dir.Path("table")));
    for (int i = 0; i < keys; ++i) {
      ASSERT_OK(writer->Put(Key(i), ""));
      if (i == keys / 2) ExpectCharged(HashBytes(keys / 2));
    }
    EXPECT_GE(cache_->GetUsage(), HashBytes(keys));
    if (end == kFail) {
      EXPECT_FALSE(writer->Put(Key(0), "out of order").ok());
    } else if (end == kFinish) {
      EXPECT_OK(writer->Finish());
    }
    writer.reset();
    EXPECT_EQ(cache_->GetUsage(), 0u) << end;
  }
}

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
  // Opens a database and puts 1000 keys.
  void Open(bool flip, bool detect) {
    const auto& [partitioned, layout] = GetParam();
    PolicyPtr policy = PolicyFromString("deltabloom:10:" + layout);
    if (flip) {
      policy = std::make_shared<DelegatingPolicy<FlippingBuilder>>(policy);
    }
    db_.Open(MakeOptions({policy, partitioned, [detect](auto*, auto* table) {
                            table->detect_filter_construct_corruption = detect;
                          }}));
    for (const auto& key : Keys(0, 1000)) db_.Put(key, Value(key));
  }

  TestDb db_;
};

INSTANTIATE_TEST_SUITE_P(
    Policies, ConstructionCorruptionTest,
    ::testing::Combine(::testing::Bool(), ::testing::ValuesIn(LayoutNames())));

TEST_P(ConstructionCorruptionTest, FlushFailsAndWritesNothing) {
  Open(true, true);
  const Status status = db_->Flush({});
  EXPECT_TRUE(status.IsCorruption()) << status.ToString();
  EXPECT_CONTAINS(status.ToString(), "deltabloom: a filter changed");
  std::string files;
  ASSERT_TRUE(db_->GetProperty("rocksdb.num-files-at-level0", &files));
  EXPECT_EQ(files, "0");
}

// Without detection the damage loses keys, so the test above proves something.
TEST_P(ConstructionCorruptionTest, GoesUnseenWithoutDetection) {
  Open(true, false);
  db_.Flush();
  EXPECT_GT(GetAll(db_, 0, 1000).missed, 0);
}

TEST_P(ConstructionCorruptionTest, SoundFiltersPass) {
  Open(false, true);
  db_.Flush();
  db_.ExpectFiltered(0, 1000);
}

}  // namespace
}  // namespace deltabloom::testing
