// The memory of building filters as the block cache sees it, while tables are
// built.
#include "engines/rocksdb/policy/construction_charge.h"

#include <gtest/gtest.h>

#include "engines/rocksdb/policy/private_abi.h"
#include "rocksdb/cache.h"
#include "rocksdb/sst_file_writer.h"
#include "tests/rocksdb/test_db.h"
// Where newer releases declare what a Cache can do.
#if __has_include("rocksdb/advanced_cache.h")
#include "rocksdb/advanced_cache.h"
#endif

namespace deltabloom::testing {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
// What the cache charges at a time, and its own per entry.
constexpr uint64_t kSlack = kMiB;

#if ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR >= 703
void AskForCharge(rocksdb::BlockBasedTableOptions* table) {
  table->cache_usage_options.options_overrides.insert(
      {rocksdb::CacheEntryRole::kFilterConstruction,
       {rocksdb::CacheEntryRoleOptions::Decision::kEnabled}});
}
#else
void AskForCharge(rocksdb::BlockBasedTableOptions* table) {
  table->reserve_table_builder_memory = true;
}
#endif

class ConstructionChargeTest : public ::testing::TestWithParam<std::string> {
 protected:
  static constexpr int kKeys = 400000;

  rocksdb::BlockBasedTableOptions TableOptions(bool charge) {
    rocksdb::BlockBasedTableOptions table;
    table.block_cache = cache_;
    table.filter_policy = PolicyFromString("deltabloom:10:" + GetParam());
    if (charge) AskForCharge(&table);
    return table;
  }

  using BuilderPtr = std::unique_ptr<rocksdb::FilterBitsBuilder>;
  BuilderPtr NewBuilder(const rocksdb::BlockBasedTableOptions& table) {
    const rocksdb::FilterBuildingContext context(table);
    return BuilderPtr(table.filter_policy->GetBuilderWithContext(context));
  }

  // Keys that are quickly made: numbers.
  static void AddKeys(rocksdb::FilterBitsBuilder* builder, int end) {
    for (int i = 0; i < end; ++i) {
      builder->AddKey({reinterpret_cast<const char*>(&i), sizeof(i)});
    }
  }

  // Bytes of hashes of that many keys.
  static uint64_t HashBytes(uint64_t keys) {
    return internal::FindLayoutOfName(GetParam())->hash_size * keys;
  }

  const std::shared_ptr<rocksdb::Cache> cache_ =
      rocksdb::NewLRUCache(64 * kMiB, 0);
};

INSTANTIATE_TEST_SUITE_P(Layouts, ConstructionChargeTest,
                         ::testing::ValuesIn(LayoutNames()));

TEST_P(ConstructionChargeTest, FollowsABuilder) {
  const auto table = TableOptions(true);
  BuilderPtr builder = NewBuilder(table);
  for (uint64_t filter = 0; filter < 2; ++filter) {
    // Filters that are finished stay charged while the builder lives.
    const uint64_t filters = uint64_t{kKeys} * 10 / 8 * filter;
    AddKeys(builder.get(), kKeys);
    EXPECT_GE(cache_->GetUsage(), HashBytes(kKeys) + filters);
    EXPECT_LE(cache_->GetUsage(), HashBytes(kKeys) + filters + kSlack);
    std::unique_ptr<const char[]> owner;
    EXPECT_GT(builder->Finish(&owner).size(), 400000u);
    EXPECT_GE(cache_->GetUsage(), filters + kKeys * 10 / 8);
    // RocksDB gives back late: from three quarters down.
    EXPECT_LE(cache_->GetUsage(), (filters + kKeys * 10 / 8) * 4 / 3 + kSlack);
  }
  builder.reset();
  EXPECT_EQ(cache_->GetUsage(), 0u);
}

TEST_P(ConstructionChargeTest, IsGivenBackByAnAbandonedBuilder) {
  const auto table = TableOptions(true);
  BuilderPtr builder = NewBuilder(table);
  AddKeys(builder.get(), kKeys);
  EXPECT_GE(cache_->GetUsage(), HashBytes(kKeys));
  builder.reset();
  EXPECT_EQ(cache_->GetUsage(), 0u);
}

TEST_P(ConstructionChargeTest, IsNoneUnlessAskedFor) {
  const auto table = TableOptions(false);
  BuilderPtr builder = NewBuilder(table);
  AddKeys(builder.get(), kKeys);
  EXPECT_EQ(cache_->GetUsage(), 0u);
}

// The filter is built all the same, and the cache stays within its limit.
TEST_P(ConstructionChargeTest, AbsorbsAStrictLimit) {
  auto table = TableOptions(true);
  const auto full = rocksdb::NewLRUCache(kMiB, 0, true);
  table.block_cache = full;
  BuilderPtr charged = NewBuilder(table);
  BuilderPtr free = NewBuilder(TableOptions(false));
  AddKeys(charged.get(), kKeys);
  AddKeys(free.get(), kKeys);
  EXPECT_GT(full->GetUsage(), kMiB / 2);
  EXPECT_LE(full->GetUsage(), kMiB);
  std::unique_ptr<const char[]> owner;
  std::unique_ptr<const char[]> other_owner;
  EXPECT_EQ(charged->Finish(&owner), free->Finish(&other_owner));
  charged.reset();
  EXPECT_EQ(full->GetUsage(), 0u);
}

// Through RocksDB: a large table while its keys come, finished, given up, and
// with an error.
TEST_P(ConstructionChargeTest, FollowsATable) {
  enum { kFinish, kGiveUp, kFail };
  for (const int end : {kFinish, kGiveUp, kFail}) {
    TempDir dir;
    rocksdb::Options options;
    // What takes time here is RocksDB's table, not the filter.
    options.compression = rocksdb::kNoCompression;
    rocksdb::BlockBasedTableOptions table = TableOptions(true);
    table.checksum = rocksdb::kNoChecksum;
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    // The errors come with a table that has only begun to be large.
    const int keys = end == kFinish ? kKeys : kKeys / 4;
    auto writer = std::make_unique<rocksdb::SstFileWriter>(
        rocksdb::EnvOptions(), options);
    ASSERT_ROCKSDB_OK(writer->Open(dir.Path("table")));
    for (int i = 0; i < keys; ++i) {
      ASSERT_ROCKSDB_OK(writer->Put(Key(i), ""));
      if (i == keys / 2) {
        EXPECT_GE(cache_->GetUsage(),
                  HashBytes(static_cast<uint64_t>(keys / 2)));
        EXPECT_LE(cache_->GetUsage(),
                  HashBytes(static_cast<uint64_t>(keys / 2)) + kSlack);
      }
    }
    EXPECT_GE(cache_->GetUsage(), HashBytes(static_cast<uint64_t>(keys)));
    if (end == kFail) {
      EXPECT_FALSE(writer->Put(Key(0), "out of order").ok());
    } else if (end == kFinish) {
      EXPECT_ROCKSDB_OK(writer->Finish());
    }
    writer.reset();
    EXPECT_EQ(cache_->GetUsage(), 0u) << end;
  }
}

}  // namespace
}  // namespace deltabloom::testing
