// The statistics of filters in databases of which a test knows every lookup,
// compared with RocksDB's own tickers.
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
  const bool partitioned_ = std::get<0>(GetParam());
  const std::string layout_ = std::get<1>(GetParam());
  const PolicyPtr policy_ = PolicyFromString("deltabloom:10:" + layout_);
};

INSTANTIATE_TEST_SUITE_P(
    Layouts, StatisticsTest,
    ::testing::Combine(::testing::Bool(), ::testing::ValuesIn(LayoutNames())));

TEST_P(StatisticsTest, GetAndMultiGetAreCountedAsRocksDBCounts) {
  TestDb db(policy_, partitioned_);
  db.Load(0, kKeys);
  uint64_t useful = 0;
  uint64_t lookups = 0;
  for (const bool batches : {false, true}) {
    const Lookups seen =
        batches ? MultiGetAll(db, 0, kKeys) : GetAll(db, 0, kKeys);
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
  TestDb db(policy_, partitioned_);
  db.Load(0, kKeys);
  db.ExpectFiltered(0, kKeys);  // opens every partition
  RocksDBFilterRow row = StatisticsOf(policy_).Total();
  EXPECT_EQ(row.keys_built, uint64_t{kKeys});
  if (partitioned_) {
    EXPECT_GT(row.filters_built, 3u);
  } else {
    EXPECT_EQ(row.filters_built, 1u);
    EXPECT_EQ(row.bytes_built, db.Tables().begin()->second->filter_size);
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
    EXPECT_TRUE(other.layout == layout_ || other.layout == "local");
    keys_above += other.keys_built;
  }
  EXPECT_EQ(keys_above, uint64_t{kKeys});

  // Other levels are other rows; filters of tables that are gone are closed.
  db.Rewrite();
  db.ExpectFiltered(0, kKeys);
  std::vector<rocksdb::LiveFileMetaData> files;
  db->GetLiveFilesMetaData(&files);
  ASSERT_FALSE(files.empty());
  const int level = files[0].level;  // 1 or 6, by RocksDB's version
  ASSERT_GT(level, 0);
  const std::string text = std::to_string(level);
  EXPECT_CONTAINS(StatisticsOf(policy_).ToJson(), "{\"level\":" + text + ",");
  EXPECT_CONTAINS(StatisticsOf(policy_).ToPrometheus(),
                  "{level=\"" + text + "\",");
  EXPECT_CONTAINS(StatisticsOf(policy_).ToText(), "\n" + text + " ");
  uint64_t keys_below = 0;
  for (const RocksDBFilterRow& other : StatisticsOf(policy_).rows) {
    EXPECT_TRUE(other.level == 0 || other.level == level) << other.level;
    if (other.level > 0) {
      keys_below += other.keys_built;
      EXPECT_GT(other.filters_open, 0u);
    } else if (!partitioned_) {  // the cache may keep partitions
      EXPECT_EQ(other.filters_open, 0u);
      EXPECT_EQ(other.keys_open, 0u);
    }
  }
  EXPECT_EQ(keys_below, uint64_t{kKeys});

  // A filter that is read from a file is known by its bytes alone. With its
  // cache, nothing of the database is open any more.
  db.Open(MakeOptions({}));
  EXPECT_EQ(StatisticsOf(policy_).Total().filters_open, 0u);
  ASSERT_TRUE(ResetRocksDBFilterStatistics(*policy_));
  db.Open(MakeOptions({policy_, partitioned_}));
  db.ExpectFiltered(0, kKeys);
  row = StatisticsOf(policy_).Total();
  EXPECT_EQ(row.filters_built, 0u);
  EXPECT_GE(row.filters_open, 1u);
  EXPECT_NEAR(static_cast<double>(row.keys_open), kKeys,
              kKeys * 0.06 + 32.0 * static_cast<double>(row.filters_open));
}

// Seeks with a prefix, of which RocksDB counts those that a filter answered.
TEST_P(StatisticsTest, PrefixSeeks) {
  constexpr int kPrefixes = 400;
  TestDb db(policy_, partitioned_, [](Options* options, auto* table) {
    options->prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(12));
    table->whole_key_filtering = false;
  });
  for (int i = 0; i < kPrefixes; ++i) {
    for (const char* const end : {"/a", "/b", "/c"}) {
      db.Put(Key(2 * i) + end);
    }
  }
  db.Flush();
  db.options().statistics->Reset();
  ASSERT_TRUE(ResetRocksDBFilterStatistics(*policy_));
  ReadOptions read;
  read.prefix_same_as_start = true;
  for (int i = 0; i < 2 * kPrefixes - 1; ++i) {
    const auto it = db.NewIterator(read);
    it->Seek(Key(i));
    EXPECT_EQ(it->Valid(), i % 2 == 0) << i;
  }
  const RocksDBFilterRow row = StatisticsOf(policy_).Total();
  EXPECT_EQ(row.lookups, 2u * kPrefixes - 1);
  EXPECT_EQ(row.negatives, db.FilteredSeeks());
  EXPECT_GT(row.negatives, kPrefixes * 9u / 10);
}

TEST_P(StatisticsTest, DatabasesOfOnePolicyAreSummed) {
  TestDb one(policy_, partitioned_);
  TestDb two(policy_, partitioned_);
  one.Load(0, kKeys);
  two.Load(0, kKeys);
  const uint64_t useful =
      GetAll(one, 0, kKeys).useful + GetAll(two, 0, kKeys).useful;
  const RocksDBFilterRow row = StatisticsOf(policy_).Total();
  EXPECT_EQ(row.negatives, useful);
  EXPECT_EQ(row.keys_built, 2u * kKeys);

  // And the process has the sum of all policies, also of those that are gone.
  const PolicyPtr other = Deltabloom();
  const RocksDBFilterRow before = GetRocksDBFilterStatistics().Total();
  uint64_t useful_there = 0;
  {
    const PolicyPtr temporary = Deltabloom();
    TestDb db(temporary, partitioned_);
    db.Load(0, kKeys);
    useful_there = GetAll(db, 0, kKeys).useful;
    EXPECT_EQ(StatisticsOf(temporary).Total().negatives, useful_there);
    EXPECT_EQ(StatisticsOf(other).Total().lookups, 0u);
  }
  const RocksDBFilterRow after = GetRocksDBFilterStatistics().Total();
  EXPECT_EQ(after.negatives - before.negatives, useful_there);
  EXPECT_EQ(after.keys_built - before.keys_built, uint64_t{kKeys});
}

TEST(StatisticsRowsTest, OtherFiltersThanDeltablooms) {
  TestDb db(RocksDBBloom());
  db.Load(0, kKeys);
  const PolicyPtr policy = Deltabloom();
  db.Open(policy);
  const Lookups gets = GetAll(db, 0, kKeys);
  ExpectFiltered(gets, kKeys);
  const Lookups batches = MultiGetAll(db, 0, kKeys);
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
  const PolicyPtr policy = Deltabloom();
  TestDb db(policy);
  const std::string path = db.Path("external.sst");
  WriteSst(db.options(), path, Keys(0, kKeys));
  ASSERT_OK(db->IngestExternalFile({path}, {}));
  const Lookups lookups = GetAll(db, 0, kKeys);
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
  const PolicyPtr policy = PolicyFromString("id=deltabloom;statistics=false");
  TestDb db(policy);
  db.Load(0, kKeys);
  db.ExpectFiltered(0, kKeys);
  EXPECT_TRUE(StatisticsOf(policy).rows.empty());
}

TEST(StatisticsRowsTest, SwitchedAtRunTimeForFiltersFromThenOn) {
  const PolicyPtr policy = PolicyFromString("id=deltabloom;statistics=false");
  TestDb db(policy);
  db.Load(0, kKeys);
  ASSERT_OK(db.SetField("statistics", "true"));
  db.Load(kKeys, 2 * kKeys);
  db.ExpectFiltered(kKeys, 2 * kKeys);
  const RocksDBFilterRow row = StatisticsOf(policy).Total();
  EXPECT_EQ(row.filters_built, 1u);
  EXPECT_EQ(row.filters_open, 1u);
  EXPECT_EQ(row.lookups, 2u * kKeys);  // and none of the older table's
  ASSERT_OK(db.SetField("statistics", "false"));
  db.Load(2 * kKeys, 3 * kKeys);
  EXPECT_EQ(StatisticsOf(policy).Total().filters_built, 1u);
}

TEST(StatisticsRowsTest, ResetOfOnePolicyLeavesTheProcessAlone) {
  const PolicyPtr policy = Deltabloom();
  TestDb db(policy);
  db.Load(0, kKeys);
  const RocksDBFilterRow before = GetRocksDBFilterStatistics().Total();
  uint64_t useful = GetAll(db, 0, kKeys).useful;
  ASSERT_TRUE(ResetRocksDBFilterStatistics(*policy));
  const RocksDBFilterStatistics empty = StatisticsOf(policy);
  EXPECT_EQ(empty.Total().lookups, 0u);
  EXPECT_EQ(empty.Total().keys_built, 0u);
  EXPECT_EQ(empty.Total().expected_false_positives, 0);
  EXPECT_EQ(empty.Total().filters_open, 1u);  // gauges stay
  EXPECT_LT(empty.seconds, 60);
  const uint64_t useful_after = GetAll(db, 0, kKeys).useful;
  EXPECT_EQ(StatisticsOf(policy).Total().negatives, useful_after);
  useful += useful_after;
  EXPECT_EQ(GetRocksDBFilterStatistics().Total().negatives - before.negatives,
            useful);
  ResetRocksDBFilterStatistics();
  EXPECT_EQ(GetRocksDBFilterStatistics().Total().lookups, 0u);
  EXPECT_EQ(StatisticsOf(policy).Total().negatives, useful_after);
}

TEST(StatisticsRowsTest, ThreadsThatEndedAreCounted) {
  const PolicyPtr policy = Deltabloom();
  TestDb db(policy);
  db.Load(0, kKeys);
  constexpr int kThreads = 7;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&db] {
      std::string value;
      for (int i = 0; i < kKeys; ++i) {
        EXPECT_OK(db->Get({}, Key(2 * i), &value));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const RocksDBFilterRow row = StatisticsOf(policy).Total();
  EXPECT_EQ(row.lookups, uint64_t{kThreads} * kKeys);
  EXPECT_EQ(row.negatives, 0u);
}

// Readers that outlive their policy are counted in the sum of the process only.
TEST(StatisticsRowsTest, DatabaseOutlivesTheHandle) {
  PolicyPtr policy = Deltabloom();
  TestDb db(policy);
  policy.reset();
  db.Load(0, kKeys);
  const uint64_t useful = GetAll(db, 0, kKeys).useful;
  EXPECT_EQ(StatisticsOf(PolicyIn(db->GetOptions())).Total().negatives, useful);
}

}  // namespace
}  // namespace deltabloom::testing
