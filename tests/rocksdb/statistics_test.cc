// The statistics of filters: in databases of which a test knows every lookup,
// compared with RocksDB's own tickers; as text, JSON and for Prometheus; and
// the advice from them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "deltabloom/rocksdb.h"
#include "deltabloom/rocksdb_statistics.h"
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
  const Lookups seen = GetAll(db, 0, kKeys);
  ExpectFiltered(seen);
  const RocksDBFilterRow row = StatisticsOf(policy_).Total();
  // The last partition ends before the last absent key.
  EXPECT_LE(row.lookups, 2 * seen.absent);
  EXPECT_GE(row.lookups, 2 * seen.absent - 4);
  EXPECT_EQ(row.negatives, seen.useful);
  EXPECT_TRUE(row.rate_known);
  const double expected = row.expected_false_positives;
  const auto false_positives =
      static_cast<double>(row.lookups - row.negatives - seen.absent);
  // 6 standard errors; many small filters, each with its own rate.
  EXPECT_NEAR(false_positives, expected,
              6 * std::sqrt(expected) + 0.2 * expected + 2);
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
  for (const RocksDBFilterRow& other : StatisticsOf(policy_).rows) {
    EXPECT_EQ(other.level, 0);
    // Partitions of few keys are in the fallback.
    EXPECT_TRUE(other.layout == layout_ || other.layout == "local");
  }

  // Other levels are other rows; filters of tables that are gone are closed.
  db.Rewrite();
  db.ExpectFiltered(0, kKeys);
  std::vector<rocksdb::LiveFileMetaData> files;
  db->GetLiveFilesMetaData(&files);
  ASSERT_FALSE(files.empty());
  const int level = files[0].level;  // 1 or 6, by RocksDB's version
  ASSERT_GT(level, 0);
  const RocksDBFilterStatistics rewritten = StatisticsOf(policy_);
  const std::string text = std::to_string(level);
  EXPECT_CONTAINS(rewritten.ToJson(), "{\"level\":" + text + ",");
  EXPECT_CONTAINS(rewritten.ToPrometheus(), "{level=\"" + text + "\",");
  EXPECT_CONTAINS(rewritten.ToText(), "\n" + text + " ");
  uint64_t keys_below = 0;
  for (const RocksDBFilterRow& other : rewritten.rows) {
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

TEST_P(StatisticsTest, DatabasesAndPoliciesAreSummed) {
  const RocksDBFilterRow before = GetRocksDBFilterStatistics().Total();
  uint64_t useful = 0;
  const auto use = [&](const PolicyPtr& policy) {
    TestDb db(policy, partitioned_);
    db.Load(0, kKeys);
    useful += GetAll(db, 0, kKeys).useful;
  };
  use(policy_);
  use(policy_);
  const RocksDBFilterRow row = StatisticsOf(policy_).Total();
  EXPECT_EQ(row.negatives, useful);
  EXPECT_EQ(row.keys_built, 2u * kKeys);

  // The process has the sum of all policies, also of those that are gone.
  use(Deltabloom());
  EXPECT_EQ(StatisticsOf(policy_).Total().negatives, row.negatives);
  const RocksDBFilterRow after = GetRocksDBFilterStatistics().Total();
  EXPECT_EQ(after.negatives - before.negatives, useful);
  EXPECT_EQ(after.keys_built - before.keys_built, 3u * kKeys);
}

TEST(StatisticsRowsTest, OtherFiltersThanDeltablooms) {
  TestDb db(RocksDBBloom());
  db.Load(0, kKeys);
  const PolicyPtr policy = Deltabloom();
  db.Open(policy);
  const Lookups lookups = GetAll(db, 0, kKeys);
  ExpectFiltered(lookups);
  const RocksDBFilterRow row = RowOf(StatisticsOf(policy), -1, "rocksdb");
  EXPECT_EQ(row.negatives, lookups.useful);
  EXPECT_EQ(row.filters_open, 1u);
  EXPECT_FALSE(row.rate_known);
  EXPECT_EQ(row.expected_false_positives, 0);
  EXPECT_EQ(row.keys_open, 0u);
  EXPECT_EQ(row.BitsPerKey(), 0);
  // Where they are ignored they are none of RocksDB's.
  const PolicyPtr own = Deltabloom(10, RocksDBCompatibility::kOwn);
  const std::string filter = Build(*RocksDBBloom(), {"key"});
  const auto reader = NewBitsReader(*own, filter);
  const RocksDBFilterRow always = RowOf(StatisticsOf(own), -1, "always");
  EXPECT_EQ(always.filters_open, 1u);
  EXPECT_EQ(always.FalsePositiveRate(), 0);
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

TEST(StatisticsRowsTest, SwitchedAtRunTimeForFiltersFromThenOn) {
  const PolicyPtr policy = PolicyFromString("id=deltabloom;statistics=false");
  TestDb db(policy);
  db.Load(0, kKeys);
  db.ExpectFiltered(0, kKeys);
  EXPECT_TRUE(StatisticsOf(policy).rows.empty());
  ASSERT_OK(db.SetField("statistics", "true"));
  db.Load(kKeys, 2 * kKeys);
  db.ExpectFiltered(kKeys, 2 * kKeys);
  const RocksDBFilterRow row = StatisticsOf(policy).Total();
  EXPECT_EQ(row.filters_built, 1u);
  EXPECT_EQ(row.filters_open, 1u);
  EXPECT_EQ(row.lookups, 4u * kKeys);  // and none of the older table's
  ASSERT_OK(db.SetField("statistics", "false"));
  db.Load(2 * kKeys, 3 * kKeys);
  EXPECT_EQ(StatisticsOf(policy).Total().filters_built, 1u);
}

TEST(StatisticsRowsTest, ResetOfOnePolicyLeavesTheProcessAlone) {
  const PolicyPtr policy = Deltabloom();
  TestDb db(policy);
  db.Load(0, kKeys);
  const RocksDBFilterRow before = GetRocksDBFilterStatistics().Total();
  const uint64_t useful = GetAll(db, 0, kKeys).useful;
  ASSERT_TRUE(ResetRocksDBFilterStatistics(*policy));
  const RocksDBFilterStatistics empty = StatisticsOf(policy);
  EXPECT_EQ(empty.Total().lookups, 0u);
  EXPECT_EQ(empty.Total().keys_built, 0u);
  EXPECT_EQ(empty.Total().expected_false_positives, 0);
  EXPECT_EQ(empty.Total().filters_open, 1u);  // gauges stay
  EXPECT_LT(empty.seconds, 60);
  const uint64_t useful_after = GetAll(db, 0, kKeys).useful;
  EXPECT_EQ(StatisticsOf(policy).Total().negatives, useful_after);
  EXPECT_EQ(GetRocksDBFilterStatistics().Total().negatives - before.negatives,
            useful + useful_after);
  ResetRocksDBFilterStatistics();
  EXPECT_EQ(GetRocksDBFilterStatistics().Total().lookups, 0u);
  EXPECT_EQ(StatisticsOf(policy).Total().negatives, useful_after);
}

// A row with lookups of absent keys that matched at this rate.
RocksDBFilterRow LookedUp(int level, const std::string& layout, double keys,
                          double bits_per_key, double absent, double rate) {
  RocksDBFilterRow row;
  row.level = level;
  row.layout = layout;
  row.rate_known = layout != "rocksdb";
  row.filters_open = 1;
  row.keys_open = static_cast<uint64_t>(keys);
  row.bytes_open = static_cast<uint64_t>(keys * bits_per_key / 8);
  row.negatives = static_cast<uint64_t>(absent * (1 - rate));
  row.lookups = static_cast<uint64_t>(absent);
  row.expected_false_positives = absent * rate;
  return row;
}

RocksDBFilterStatistics Example() {
  RocksDBFilterStatistics statistics;
  statistics.seconds = 12.5;
  RocksDBFilterRow six = LookedUp(6, "compact", 1000, 10, 1001, 0);
  six.filters_built = 2;
  six.bytes_built = 2500;
  six.keys_built = 2000;
  six.filters_loaded = 3;
  six.bytes_loaded = 3750;
  six.negatives = 999;
  six.expected_false_positives = 1;
  RocksDBFilterRow foreign = LookedUp(-1, "rocksdb", 0, 0, 0, 0);
  foreign.filters_open = 3;
  foreign.lookups = 18446744073709551615u;
  statistics.rows = {six, foreign};
  return statistics;
}

TEST(StatisticsTextTest, Json) {
  EXPECT_EQ(Example().ToJson(),
            "{\"version\":\"0.1.0\",\"seconds\":12.5,\"rows\":["
            "{\"level\":6,\"layout\":\"compact\",\"filters_built\":2,"
            "\"bytes_built\":2500,\"keys_built\":2000,\"filters_open\":1,"
            "\"bytes_open\":1250,\"keys_open\":1000,\"filters_loaded\":3,"
            "\"bytes_loaded\":3750,\"lookups\":1001,"
            "\"negatives\":999,\"expected_false_positives\":1,"
            "\"false_positive_rate\":0.001},"
            "{\"level\":null,\"layout\":\"rocksdb\",\"filters_built\":0,"
            "\"bytes_built\":0,\"keys_built\":0,\"filters_open\":3,"
            "\"bytes_open\":0,\"keys_open\":0,\"filters_loaded\":0,"
            "\"bytes_loaded\":0,\"lookups\":18446744073709551615,"
            "\"negatives\":0,\"expected_false_positives\":null,"
            "\"false_positive_rate\":null}],"
            "\"advice\":[]}");
  EXPECT_EQ(RocksDBFilterStatistics().ToJson(),
            "{\"version\":\"0.1.0\",\"seconds\":0,\"rows\":[],\"advice\":[]}");
}

TEST(StatisticsTextTest, Prometheus) {
  const std::string text = Example().ToPrometheus();
  EXPECT_EQ(text.find("# HELP deltabloom_filters_built_total "), 0u);
  const std::string six = "{level=\"6\",layout=\"compact\"} ";
  const std::string unknown = "{level=\"unknown\",layout=\"rocksdb\"} ";
  for (const std::string& line :
       {std::string("# TYPE deltabloom_filters_built_total counter"),
        "deltabloom_filters_built_total" + six + "2",
        "deltabloom_filters_built_bytes_total" + six + "2500",
        std::string("# TYPE deltabloom_filters_open gauge"),
        "deltabloom_filters_open" + unknown + "3",
        "deltabloom_filters_loaded_total" + six + "3",
        "deltabloom_filters_loaded_bytes_total" + six + "3750",
        "deltabloom_filter_lookups_total" + unknown + "18446744073709551615",
        "deltabloom_filter_negatives_total" + six + "999",
        "deltabloom_filter_expected_false_positives_total" + six + "1"}) {
    EXPECT_CONTAINS(text, "\n" + line + "\n");
  }
  // No figure where none is known.
  EXPECT_LACKS(text, "expected_false_positives_total{level=\"unknown\"");
  EXPECT_EQ(text.back(), '\n');
}

TEST(StatisticsTextTest, Text) {
  EXPECT_EQ(Example().ToText(),
            "Filters, by the level their tables were written for, 12 s; false "
            "positives as expected:\n"
            "level    layout   open     MB  keys  bits/key  built  loaded      "
            "         lookups  negatives  false positives       %\n"
            "6        compact     1  0.001  1000     10.00      2       3      "
            "            1001        999              1.0  0.1000\n"
            "unknown  rocksdb     3  0.000     0         -      0       0  1844"
            "6744073709551615          0                -       -\n"
            "all                  4  0.001  1000     10.00      2       3      "
            "            1000        999              1.0  0.1000\n");
}

// 100,000 keys that filters of 3 MB rejected, loaded for every tenth of them.
TEST(StatisticsAdviceTest, FiltersThatAreReadAgainAndAgain) {
  RocksDBFilterStatistics statistics;
  statistics.seconds = 100;
  RocksDBFilterRow row = LookedUp(6, "compact", 2.4e6, 10, 1e5, 0);
  row.filters_loaded = 10'001;
  row.bytes_loaded = 10'001 * row.bytes_open;
  statistics.rows = {row};
  const std::string line =
      "filters are read again and again: 30000.0 MB, 300.0 kB for each key "
      "that they rejected, which saved a data block (4 kB by default). A "
      "filter has 3000.0 kB; a partition";
  ASSERT_EQ(statistics.Advice().size(), 1u);
  EXPECT_CONTAINS(statistics.Advice()[0], line);
  EXPECT_CONTAINS(statistics.ToText(), line);
  EXPECT_CONTAINS(statistics.ToJson(), line);
  // Each once: when its table was opened, or after it was built.
  RocksDBFilterRow& once = statistics.rows[0];
  once.filters_loaded = 1;
  once.bytes_loaded = once.bytes_open;
  EXPECT_TRUE(statistics.Advice().empty());
  once.bytes_built = 10'000 * once.bytes_open;
  once.bytes_loaded = 10'001 * once.bytes_open;
  EXPECT_TRUE(statistics.Advice().empty());
}

// Through a block cache that holds less than the filters.
TEST(StatisticsTest, LoadsAreCounted) {
  for (const bool cached : {false, true}) {
    const PolicyPtr policy = Deltabloom();
    TestDb db(policy, false, [&](Options*, BlockBasedTableOptions* table) {
      table->cache_index_and_filter_blocks = cached;
      table->block_cache = rocksdb::NewLRUCache(3'000, 0);
      table->optimize_filters_for_memory = false;  // filters of one size
    });
    for (int i = 0; i < 4; ++i) db.Load(1000 * i, 1000 * (i + 1));
    db.Reopen();
    ASSERT_TRUE(ResetRocksDBFilterStatistics(*policy));
    for (int round = 0; round < 10; ++round) {
      for (int i = 0; i < 4; ++i) db.ExpectFiltered(1000 * i, 1000 * i + 10);
    }
    RocksDBFilterStatistics now;
    ASSERT_TRUE(GetRocksDBFilterStatistics(*policy, &now));
    const RocksDBFilterRow total = now.Total();
    if (cached) {
      EXPECT_GE(total.filters_loaded, 30u);
      EXPECT_EQ(total.bytes_loaded % total.filters_loaded, 0u);
    } else {
      EXPECT_EQ(total.filters_loaded, 0u);
      EXPECT_EQ(total.bytes_loaded, 0u);
    }
  }
}

// Advice is about filters that another layout would make smaller, in the order
// of their lookups.
RocksDBFilterStatistics Looked(const RocksDBFilterRow& row) {
  RocksDBFilterStatistics statistics;
  statistics.seconds = 100;
  statistics.rows = {row};
  return statistics;
}

TEST(StatisticsAdviceTest, CompactInsteadOfABloomFilter) {
  RocksDBFilterStatistics statistics =
      Looked(LookedUp(6, "classic", 1e6, 10, 1e7, 0.013));
  const std::string line =
      "level 6, classic: 10.0 bits per key; as many in compact would save 1188 "
      "reads per second";
  ASSERT_EQ(statistics.Advice().size(), 1u);
  EXPECT_EQ(statistics.Advice()[0], line);
  EXPECT_CONTAINS(statistics.ToText(), line + "\n");
  EXPECT_CONTAINS(statistics.ToJson(), "\"" + line + "\"");
  // Of filters of a hundred keys compact would be local.
  statistics.rows[0].filters_open = 10'000;
  EXPECT_TRUE(statistics.Advice().empty());
}

// No advice about what would not matter or is not known.
TEST(StatisticsAdviceTest, SilentWhereFiguresDoNotCarryIt) {
  const RocksDBFilterRow good = LookedUp(6, "local", 1e6, 10, 1e7, 0.01);
  EXPECT_EQ(Looked(good).Advice().size(), 1u);
  EXPECT_TRUE(Looked(LookedUp(6, "local", 1e6, 10, 1e4, 0.01)).Advice().empty())
      << "a read a second";
  EXPECT_TRUE(RocksDBFilterStatistics().Advice().empty());
  RocksDBFilterStatistics no_time = Looked(good);
  no_time.seconds = 0;
  EXPECT_TRUE(no_time.Advice().empty());
  for (void (*change)(RocksDBFilterRow * row) :
       {+[](RocksDBFilterRow* row) { row->negatives = 999; },
        +[](RocksDBFilterRow* row) { row->keys_open = 0; },
        +[](RocksDBFilterRow* row) { row->rate_known = false; },
        +[](RocksDBFilterRow* row) { row->layout = "compact"; }}) {
    RocksDBFilterRow changed = good;
    change(&changed);
    EXPECT_TRUE(Looked(changed).Advice().empty());
  }
}

}  // namespace
}  // namespace deltabloom::testing
