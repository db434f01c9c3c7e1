// What filters are counted to do, in databases of which a test knows every
// lookup, beside RocksDB's own tickers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "deltabloom/rocksdb_statistics.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb/sst_file_writer.h"
#include "tests/rocksdb/test_db.h"

namespace deltabloom::testing {
namespace {

constexpr int kKeys = 4000;

RocksDBFilterStatistics StatisticsOf(const PolicyPtr& policy) {
  RocksDBFilterStatistics statistics;
  EXPECT_TRUE(GetRocksDBFilterStatistics(*policy, &statistics));
  return statistics;
}

// The row of a level and layout; one of zeros if there is none.
RocksDBFilterRow RowOf(const RocksDBFilterStatistics& statistics, int level,
                       const std::string& layout) {
  for (const RocksDBFilterRow& row : statistics.rows) {
    if (row.level == level && row.layout == layout) return row;
  }
  return {};
}

// Parameters: partitioned, layout.
class StatisticsTest
    : public ::testing::TestWithParam<std::tuple<bool, std::string>> {
 protected:
  DbConfig MakeConfig() {
    DbConfig config;
    config.partitioned = std::get<0>(GetParam());
    config.policy = policy_;
    return config;
  }
  const std::string& Layout() const { return std::get<1>(GetParam()); }

  const PolicyPtr policy_ =
      PolicyFromString("deltabloom:10:" + std::get<1>(GetParam()));
  TempDir dir_;
};

INSTANTIATE_TEST_SUITE_P(
    Layouts, StatisticsTest,
    ::testing::Combine(::testing::Bool(), ::testing::ValuesIn(LayoutNames())));

TEST_P(StatisticsTest, GetAndMultiGetAreCountedAsRocksDBCounts) {
  const auto db = Open(MakeOptions(MakeConfig()), dir_.Path("db"));
  Load(db.get(), 0, kKeys);
  uint64_t useful = 0;
  uint64_t lookups = 0;
  for (const bool batches : {false, true}) {
    const Lookups seen =
        batches ? MultiGetAll(db.get(), 0, kKeys) : GetAll(db.get(), 0, kKeys);
    ExpectFiltered(seen, kKeys);
    useful += seen.useful;
    lookups += 2 * kKeys;
    const RocksDBFilterStatistics statistics = StatisticsOf(policy_);
    const RocksDBFilterRow row = statistics.Total();
    // The last partition ends before the last absent key.
    EXPECT_LE(row.lookups, lookups);
    EXPECT_GE(row.lookups, lookups - 4);
    EXPECT_EQ(row.negatives, useful);
    EXPECT_TRUE(row.rate_known);
    const double expected = row.expected_false_positives;
    const auto false_positives = static_cast<double>(
        row.lookups - row.negatives - (batches ? 2 : 1) * kKeys);
    // 6 standard errors; many small filters, each with its own rate.
    EXPECT_NEAR(false_positives, expected,
                6 * std::sqrt(expected) + 0.2 * expected + 2);
  }
}

TEST_P(StatisticsTest, FiltersBuiltAndOpen) {
  auto db = Open(MakeOptions(MakeConfig()), dir_.Path("db"));
  Load(db.get(), 0, kKeys);
  ExpectFiltered(GetAll(db.get(), 0, kKeys), kKeys);  // opens every partition
  RocksDBFilterRow row = StatisticsOf(policy_).Total();
  EXPECT_EQ(row.keys_built, uint64_t{kKeys});
  rocksdb::TablePropertiesCollection tables;
  ASSERT_ROCKSDB_OK(db->GetPropertiesOfAllTables(&tables));
  if (std::get<0>(GetParam())) {
    EXPECT_GT(row.filters_built, 3u);
  } else {
    EXPECT_EQ(row.filters_built, 1u);
    EXPECT_EQ(row.bytes_built, tables.begin()->second->filter_size);
  }
  EXPECT_EQ(row.filters_open, row.filters_built);
  EXPECT_EQ(row.bytes_open, row.bytes_built);
  // Estimated: 5 standard errors of a sample, and half a block of rows each.
  EXPECT_NEAR(static_cast<double>(row.keys_open), kKeys,
              kKeys * 0.06 + 32.0 * static_cast<double>(row.filters_open));
  uint64_t keys_above = 0;
  for (const RocksDBFilterRow& other : StatisticsOf(policy_).rows) {
    EXPECT_EQ(other.level, 0);
    // Partitions of few keys are in the fallback.
    EXPECT_TRUE(other.layout == Layout() || other.layout == "local");
    keys_above += other.keys_built;
  }
  EXPECT_EQ(keys_above, uint64_t{kKeys});

  // Other levels are other rows; filters of tables that are gone are closed.
  rocksdb::CompactRangeOptions rewrite;
  rewrite.bottommost_level_compaction =
      rocksdb::BottommostLevelCompaction::kForce;
  ASSERT_ROCKSDB_OK(db->CompactRange(rewrite, nullptr, nullptr));
  ExpectFiltered(GetAll(db.get(), 0, kKeys), kKeys);
  std::vector<rocksdb::LiveFileMetaData> files;
  db->GetLiveFilesMetaData(&files);
  ASSERT_FALSE(files.empty());
  const int level = files[0].level;  // 1 or 6, by RocksDB's version
  ASSERT_GT(level, 0);
  const std::string level_text = std::to_string(level);
  EXPECT_NE(
      StatisticsOf(policy_).ToJson().find("{\"level\":" + level_text + ","),
      std::string::npos);
  EXPECT_NE(StatisticsOf(policy_).ToPrometheus().find("{level=\"" + level_text +
                                                      "\","),
            std::string::npos);
  EXPECT_NE(StatisticsOf(policy_).ToText().find("\n" + level_text + " "),
            std::string::npos);
  uint64_t keys_below = 0;
  for (const RocksDBFilterRow& other : StatisticsOf(policy_).rows) {
    EXPECT_TRUE(other.level == 0 || other.level == level) << other.level;
    if (other.level > 0) {
      keys_below += other.keys_built;
      EXPECT_GT(other.filters_open, 0u);
    } else if (!std::get<0>(GetParam())) {  // the cache may keep partitions
      EXPECT_EQ(other.filters_open, 0u);
      EXPECT_EQ(other.keys_open, 0u);
    }
  }
  EXPECT_EQ(keys_below, uint64_t{kKeys});

  // A filter that is read from a file is known by its bytes alone. With its
  // cache, nothing of the database is open any more.
  db.reset();
  EXPECT_EQ(StatisticsOf(policy_).Total().filters_open, 0u);
  ASSERT_TRUE(ResetRocksDBFilterStatistics(*policy_));
  db = Open(MakeOptions(MakeConfig()), dir_.Path("db"));
  ExpectFiltered(GetAll(db.get(), 0, kKeys), kKeys);
  row = StatisticsOf(policy_).Total();
  EXPECT_EQ(row.filters_built, 0u);
  EXPECT_GE(row.filters_open, 1u);
  EXPECT_NEAR(static_cast<double>(row.keys_open), kKeys,
              kKeys * 0.06 + 32.0 * static_cast<double>(row.filters_open));
}

// Seeks with a prefix, of which RocksDB counts those that a filter answered.
TEST_P(StatisticsTest, PrefixSeeks) {
  constexpr int kPrefixes = 400;
  DbConfig config = MakeConfig();
  config.change = [](rocksdb::Options* options,
                     rocksdb::BlockBasedTableOptions* table) {
    options->prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(12));
    table->whole_key_filtering = false;
  };
  const auto db = Open(MakeOptions(config), dir_.Path("db"));
  for (int i = 0; i < kPrefixes; ++i) {
    for (const char* const end : {"/a", "/b", "/c"}) {
      ASSERT_ROCKSDB_OK(db->Put({}, Key(2 * i) + end, "value"));
    }
  }
  ASSERT_ROCKSDB_OK(db->Flush({}));
  const auto statistics = db->GetOptions().statistics;
  statistics->Reset();
  ASSERT_TRUE(ResetRocksDBFilterStatistics(*policy_));
  rocksdb::ReadOptions read;
  read.prefix_same_as_start = true;
  for (int i = 0; i < 2 * kPrefixes - 1; ++i) {
    const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator(read));
    it->Seek(Key(i));
    EXPECT_EQ(it->Valid(), i % 2 == 0) << i;
  }
  const RocksDBFilterRow row = StatisticsOf(policy_).Total();
  EXPECT_EQ(row.lookups, 2u * kPrefixes - 1);
#if ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR >= 803
  EXPECT_EQ(
      row.negatives,
      statistics->getTickerCount(rocksdb::LAST_LEVEL_SEEK_FILTERED) +
          statistics->getTickerCount(rocksdb::NON_LAST_LEVEL_SEEK_FILTERED));
#else
  EXPECT_EQ(row.negatives,
            statistics->getTickerCount(rocksdb::BLOOM_FILTER_PREFIX_USEFUL));
#endif
  EXPECT_GT(row.negatives, kPrefixes * 9u / 10);
}

TEST_P(StatisticsTest, DatabasesOfOnePolicyAreSummed) {
  const auto one = Open(MakeOptions(MakeConfig()), dir_.Path("one"));
  const auto two = Open(MakeOptions(MakeConfig()), dir_.Path("two"));
  Load(one.get(), 0, kKeys);
  Load(two.get(), 0, kKeys);
  const uint64_t useful =
      GetAll(one.get(), 0, kKeys).useful + GetAll(two.get(), 0, kKeys).useful;
  const RocksDBFilterRow row = StatisticsOf(policy_).Total();
  EXPECT_EQ(row.negatives, useful);
  EXPECT_EQ(row.keys_built, 2u * kKeys);

  // And the process has the sum of all policies, also of those that are gone.
  const PolicyPtr other = Deltabloom();
  const RocksDBFilterRow before = GetRocksDBFilterStatistics().Total();
  uint64_t useful_there = 0;
  {
    PolicyPtr temporary = Deltabloom();
    DbConfig config = MakeConfig();
    config.policy = temporary;
    const auto db = Open(MakeOptions(config), dir_.Path("three"));
    Load(db.get(), 0, kKeys);
    useful_there = GetAll(db.get(), 0, kKeys).useful;
    EXPECT_EQ(StatisticsOf(temporary).Total().negatives, useful_there);
    EXPECT_EQ(StatisticsOf(other).Total().lookups, 0u);
  }
  const RocksDBFilterRow after = GetRocksDBFilterStatistics().Total();
  EXPECT_EQ(after.negatives - before.negatives, useful_there);
  EXPECT_EQ(after.keys_built - before.keys_built, uint64_t{kKeys});
}

TEST(StatisticsRowsTest, OtherFiltersThanDeltablooms) {
  TempDir dir;
  {
    const auto db =
        Open(MakeOptions({RocksDBBloom(), false, nullptr}), dir.Path("db"));
    Load(db.get(), 0, kKeys);
  }
  const PolicyPtr policy = Deltabloom();
  const auto db = Open(MakeOptions({policy, false, nullptr}), dir.Path("db"));
  const Lookups gets = GetAll(db.get(), 0, kKeys);
  ExpectFiltered(gets, kKeys);
  const Lookups batches = MultiGetAll(db.get(), 0, kKeys);
  ExpectFiltered(batches, kKeys);
  const RocksDBFilterRow row = RowOf(StatisticsOf(policy), -1, "rocksdb");
  EXPECT_EQ(row.negatives, gets.useful + batches.useful);
  EXPECT_EQ(row.filters_open, 1u);
  EXPECT_FALSE(row.rate_known);
  EXPECT_EQ(row.expected_false_positives, 0);
  EXPECT_EQ(row.keys_open, 0u);
  EXPECT_EQ(row.BitsPerKey(), 0);
}

TEST(StatisticsRowsTest, LevelIsNotKnownInIngestedFiles) {
  TempDir dir;
  const PolicyPtr policy = Deltabloom();
  const rocksdb::Options options = MakeOptions({policy, false, nullptr});
  const auto db = Open(options, dir.Path("db"));
  rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options);
  ASSERT_ROCKSDB_OK(writer.Open(dir.Path("external.sst")));
  for (int i = 0; i < kKeys; ++i) {
    ASSERT_ROCKSDB_OK(writer.Put(Key(2 * i), Value(Key(2 * i))));
  }
  ASSERT_ROCKSDB_OK(writer.Finish());
  ASSERT_ROCKSDB_OK(db->IngestExternalFile({dir.Path("external.sst")}, {}));
  const Lookups lookups = GetAll(db.get(), 0, kKeys);
  const RocksDBFilterRow row = RowOf(StatisticsOf(policy), -1, "compact");
  EXPECT_EQ(row.negatives, lookups.useful);
  EXPECT_EQ(row.keys_built, uint64_t{kKeys});
}

TEST(StatisticsRowsTest, NotDeltabloomsPolicy) {
  RocksDBFilterStatistics statistics;
  statistics.seconds = 7;
  for (const PolicyPtr& policy : {RocksDBBloom(), RocksDBRibbon()}) {
    EXPECT_FALSE(GetRocksDBFilterStatistics(*policy, &statistics));
    EXPECT_FALSE(ResetRocksDBFilterStatistics(*policy));
  }
  EXPECT_EQ(statistics.seconds, 7);
}

TEST(StatisticsRowsTest, OffCountsNothing) {
  TempDir dir;
  const PolicyPtr policy = PolicyFromString("id=deltabloom;statistics=false");
  const auto db = Open(MakeOptions({policy, false, nullptr}), dir.Path("db"));
  Load(db.get(), 0, kKeys);
  ExpectFiltered(GetAll(db.get(), 0, kKeys), kKeys);
  EXPECT_TRUE(StatisticsOf(policy).rows.empty());
}

TEST(StatisticsRowsTest, SwitchedAtRunTimeForFiltersFromThenOn) {
  TempDir dir;
  const PolicyPtr policy = PolicyFromString("id=deltabloom;statistics=false");
  const auto db = Open(MakeOptions({policy, false, nullptr}), dir.Path("db"));
  Load(db.get(), 0, kKeys);
  const auto set = [&db](const std::string& value) {
    ASSERT_ROCKSDB_OK(db->SetOptions(
        {{"table_factory.filter_policy.deltabloom.statistics", value}}));
  };
  set("true");
  Load(db.get(), kKeys, 2 * kKeys);
  ExpectFiltered(GetAll(db.get(), kKeys, 2 * kKeys), kKeys);
  const RocksDBFilterRow row = StatisticsOf(policy).Total();
  EXPECT_EQ(row.filters_built, 1u);
  EXPECT_EQ(row.filters_open, 1u);
  EXPECT_EQ(row.lookups, 2u * kKeys);  // and none of the older table's
  set("false");
  Load(db.get(), 2 * kKeys, 3 * kKeys);
  EXPECT_EQ(StatisticsOf(policy).Total().filters_built, 1u);
}

TEST(StatisticsRowsTest, ResetOfOnePolicyLeavesTheProcessAlone) {
  TempDir dir;
  const PolicyPtr policy = Deltabloom();
  const auto db = Open(MakeOptions({policy, false, nullptr}), dir.Path("db"));
  Load(db.get(), 0, kKeys);
  const RocksDBFilterRow before = GetRocksDBFilterStatistics().Total();
  uint64_t useful = GetAll(db.get(), 0, kKeys).useful;
  ASSERT_TRUE(ResetRocksDBFilterStatistics(*policy));
  const RocksDBFilterStatistics empty = StatisticsOf(policy);
  EXPECT_EQ(empty.Total().lookups, 0u);
  EXPECT_EQ(empty.Total().keys_built, 0u);
  EXPECT_EQ(empty.Total().expected_false_positives, 0);
  EXPECT_EQ(empty.Total().filters_open, 1u);  // gauges stay
  EXPECT_LT(empty.seconds, 60);
  const uint64_t useful_after = GetAll(db.get(), 0, kKeys).useful;
  EXPECT_EQ(StatisticsOf(policy).Total().negatives, useful_after);
  useful += useful_after;
  EXPECT_EQ(GetRocksDBFilterStatistics().Total().negatives - before.negatives,
            useful);
  ResetRocksDBFilterStatistics();
  EXPECT_EQ(GetRocksDBFilterStatistics().Total().lookups, 0u);
  EXPECT_EQ(StatisticsOf(policy).Total().negatives, useful_after);
}

TEST(StatisticsRowsTest, ThreadsThatEndedAreCounted) {
  TempDir dir;
  const PolicyPtr policy = Deltabloom();
  const auto db = Open(MakeOptions({policy, false, nullptr}), dir.Path("db"));
  Load(db.get(), 0, kKeys);
  constexpr int kThreads = 7;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&db] {
      std::string value;
      for (int i = 0; i < kKeys; ++i) {
        EXPECT_ROCKSDB_OK(db->Get({}, Key(2 * i), &value));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const RocksDBFilterRow row = StatisticsOf(policy).Total();
  EXPECT_EQ(row.lookups, uint64_t{kThreads} * kKeys);
  EXPECT_EQ(row.negatives, 0u);
}

// Readers that outlive their policy count into what nobody can ask for but as
// the sum of the process.
TEST(StatisticsRowsTest, DatabaseOutlivesTheHandle) {
  TempDir dir;
  PolicyPtr policy = Deltabloom();
  const auto db = Open(MakeOptions({policy, false, nullptr}), dir.Path("db"));
  policy.reset();
  Load(db.get(), 0, kKeys);
  const uint64_t useful = GetAll(db.get(), 0, kKeys).useful;
  EXPECT_EQ(StatisticsOf(PolicyIn(db->GetOptions())).Total().negatives, useful);
}

}  // namespace
}  // namespace deltabloom::testing
