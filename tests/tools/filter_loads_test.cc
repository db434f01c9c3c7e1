// The block caches that a LOG names, and what lookups load where these do not
// hold all filters.
#include "tools/deltabloom/doctor/filter_loads.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <tuple>

#include "tools/deltabloom/database/block_cache.h"
#include "tools/deltabloom/database/database.h"

namespace deltabloom::tools {
namespace {

constexpr char kTime[] = "2026/11/24-11:55:46.834816 17096 ";

std::string Family(const std::string& name) {
  return kTime + std::string("[db/column_family.cc:630] --------------- ") +
         "Options for column family [" + name + "]:\n";
}

std::string Cache(const std::string& address, const std::string& capacity) {
  return "  block_cache: " + address +
         "\n  block_cache_name: LRUCache\n  block_cache_options:\n" +
         "    capacity : " + capacity + "\n    num_shard_bits : 4\n";
}

TEST(BlockCacheTest, EachColumnFamilyHasItsCache) {
  const BlockCaches caches = ParseBlockCaches(
      Family("default") + Cache("0x1", "33554432") + Family("a]: b") +
      Cache("0x1", "33554432") + Family("own") + Cache("0x2", "65536"));
  ASSERT_EQ(caches.size(), 3u);
  EXPECT_EQ(caches.at("default").capacity, 33554432u);
  EXPECT_EQ(caches.at("a]: b").address, "0x1");
  EXPECT_EQ(caches.at("own").capacity, 65536u);
  EXPECT_EQ(caches.at("own").address, "0x2");
}

TEST(BlockCacheTest, TheFirstCapacityOfACacheCounts) {
  const std::string second_tier = "  secondary_cache:\n    capacity : 7\n";
  EXPECT_EQ(ParseBlockCaches(Family("f") + Cache("0x1", "99") + second_tier)
                .at("f")
                .capacity,
            99u);
}

TEST(BlockCacheTest, TheLastOptionsOfAColumnFamilyCount) {
  const std::string first = Family("f") + Cache("0x1", "99");
  EXPECT_EQ(ParseBlockCaches(first + Family("f") + Cache("0x2", "5"))
                .at("f")
                .capacity,
            5u);
  EXPECT_TRUE(ParseBlockCaches(first + Family("f")).empty());
}

TEST(BlockCacheTest, WithoutANumberThereIsNone) {
  for (const std::string& log :
       {std::string(), Family("f"), Family("f") + "    capacity : 99\n",
        Family("f") + Cache("0x1", "-1"), Family("f") + Cache("0x1", "1 MB"),
        Family("f") + Cache("0x1", "99999999999999999999"),
        Family("f") + "  block_cache: 0x1\n    capacity : 99"}) {
    EXPECT_TRUE(ParseBlockCaches(log).empty()) << log;
  }
}

// A table of 4,000 data blocks of 4,096 bytes.
DatabaseTable TableOf(int level, uint64_t filter_bytes,
                      uint64_t partitions = 0) {
  DatabaseTable table;
  table.level = level;
  table.filter_bytes = filter_bytes;
  table.filter_partitions = partitions;
  table.filter_keys = filter_bytes * 8 / 10;
  table.data_bytes = 4096 * 4000;
  table.data_blocks = 4000;
  table.use.rate = 0.01;
  return table;
}

// Four runs: two tables of level 0, one of level 1, ten of level 2.
CachedFilters FourRuns(uint64_t partitions_of_last_run = 0) {
  CachedFilters filters;
  filters.Add(TableOf(0, 10000));
  filters.Add(TableOf(0, 10000));
  for (int i = 0; i < 10; ++i) {
    filters.Add(TableOf(2, 100000, partitions_of_last_run));
  }
  filters.Add(TableOf(1, 100000));
  return filters;
}

TEST(FilterLoadsTest, TheCacheHoldsTheUpperRunsFirst) {
  const CachedFilters filters = FourRuns();
  EXPECT_EQ(filters.filter_bytes(), 1120000u);
  for (const auto& [capacity, loaded, bytes] :
       {std::tuple{1120000.0, 0.0, 0.0},
        // 200,000 of the 1,000,000 bytes of level 2.
        {320000.0, 0.8, 80000.0},
        // A half of level 1, nothing of level 2.
        {70000.0, 1.5, 150000.0},
        // One table of level 0.
        {10000.0, 3.0, 210000.0},
        {0.0, 4.0, 220000.0}}) {
    const FilterLoads loads = filters.Loads(capacity, 4096);
    EXPECT_NEAR(loads.filters, loaded, 1e-9) << capacity;
    EXPECT_NEAR(loads.bytes, bytes, 1e-6) << capacity;
    EXPECT_NEAR(loads.partition_bytes, loaded * 4096, 1e-6) << capacity;
    // Each of the four filters rejects 99 % of the keys.
    EXPECT_NEAR(loads.blocks_saved, 3.96, 1e-9);
    EXPECT_NEAR(loads.bytes_saved, 3.96 * 4096, 1e-6);
  }
}

TEST(FilterLoadsTest, OfPartitionedFiltersAPartitionIsLoaded) {
  const CachedFilters filters = FourRuns(/*partitions_of_last_run=*/25);
  EXPECT_FALSE(filters.all_partitioned());
  const FilterLoads loads = filters.Loads(320000, 4096);
  EXPECT_NEAR(loads.filters, 0.8, 1e-9);
  EXPECT_NEAR(loads.bytes, 0.8 * 4000, 1e-6);
}

}  // namespace
}  // namespace deltabloom::tools
