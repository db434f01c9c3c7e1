// The parts of db_reads, on small databases.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "db_bench_ext/common/files.h"
#include "db_bench_ext/common/program.h"
#include "db_bench_ext/common/results.h"
#include "db_bench_ext/db/contenders.h"
#include "db_bench_ext/db/database.h"
#include "db_bench_ext/db/growth.h"
#include "db_bench_ext/db/options.h"
#include "db_bench_ext/db/range_filters.h"
#include "db_bench_ext/db/scans.h"
#include "db_bench_ext/db/schemas.h"
#include "db_bench_ext/db/tree.h"
#include "tests/random.h"

namespace deltabloom::db_reads {
namespace {

std::vector<uint64_t> KeysOfRuns(const TreePlan& plan) {
  std::vector<uint64_t> keys;
  for (const RunPlan& run : plan.runs) keys.push_back(run.keys);
  return keys;
}

TEST(Plan, TheDemoHasFiveRunsOfAllKeys) {
  for (const uint64_t keys : {1000u, 1337u, 2000000u, 100000000u}) {
    const TreePlan plan = DemoTree(keys);
    ASSERT_EQ(plan.runs.size(), 5u);
    uint64_t sum = 0;
    for (const uint64_t run : KeysOfRuns(plan)) {
      EXPECT_GT(run, 0u);
      sum += run;
    }
    EXPECT_EQ(sum, keys);
  }
}

TEST(KeySet, KeysAreDistinctAndDependOnTheSeed) {
  const test::FreshRandom random;
  const uint64_t seed = random.seed;
  const KeySet keys(4000, seed), same(4000, seed), other(4000, seed + 1);
  std::set<std::string> all;
  for (uint64_t i = 0; i < keys.size(); ++i) {
    all.insert(keys.Key(i));
    all.insert(keys.AbsentKey(i));
    EXPECT_EQ(keys.Key(i), same.Key(i));
    EXPECT_NE(keys.Key(i), other.Key(i));
  }
  EXPECT_EQ(all.size(), 8000u);
}

// A preset that does not notice more false positives would show nothing.
TEST(Phases, MoreFalsePositivesThanWithUniformBitsAreNoticed) {
  const auto row = [](const char* filter, const char* phase, double rate) {
    return bench::Json{{"filter", filter},
                       {"phase", phase},
                       {"false_positives_per_lookup", rate},
                       {"error", 0.0001}};
  };
  bench::Json rows = {row(kUniform, "load", 0.002), row(kUniform, "hits", 0.1),
                      row(kDefault, "load", 0.0025),
                      row(kDefault, "hits", 0.1006)};
  CompareWithUniform(&rows);
  EXPECT_EQ(rows[2]["more_than_uniform"], false);
  EXPECT_EQ(rows[3]["more_than_uniform"], true);
}

Counts CountsOf(const Database& database, const Batch& batch) {
  Counts counts;
  LookUp(database, batch, &counts);
  return counts;
}

class DatabaseTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kKeys = 5000;

  std::unique_ptr<Database> Make(const std::string& filter,
                                 const TreePlan& plan, double bits = 10) {
    keys_ = std::make_unique<KeySet>(plan.keys, random_.seed);
    auto database = std::make_unique<Database>(
        filter, MakePolicy(filter, bits),
        folder_.path() + "/" + filter + std::to_string(made_++),
        DatabaseOptions(), [this](uint64_t i) { return keys_->Key(i); });
    database->Build(plan, &progress_);
    return database;
  }

  const test::FreshRandom random_;
  bench::ScratchDirectory folder_{"deltabloom-demo"};
  bench::ProgressBar progress_{1};
  std::unique_ptr<KeySet> keys_;
  int made_ = 0;
};

// Below half a bit per key policies write no filter.
TEST_F(DatabaseTest, TablesWithoutTheirFilterAreRejected) {
  for (const char* name : {"rocksdb-bloom", "deltabloom-local"}) {
    EXPECT_THROW(Make(name, OneTable(kKeys, false), 0.4), std::runtime_error);
  }
}

TEST_F(DatabaseTest, MissedKeysAreCounted) {
  const auto database = Make("deltabloom-classic", DemoTree(kKeys));
  Batch batch;
  batch.lookup = Lookup::kPresent;
  batch.keys = {keys_->Key(9), keys_->Key(10), keys_->Key(11)};
  EXPECT_EQ(CountsOf(*database, batch).found, 3u);
  const rocksdb::WriteOptions options;
  ASSERT_TRUE(database->db()->Delete(options, keys_->Key(10)).ok());
  ASSERT_TRUE(database->db()->Put(options, keys_->Key(11), "other").ok());
  const Counts counts = CountsOf(*database, batch);
  EXPECT_EQ(counts.lookups, 3u);
  EXPECT_EQ(counts.found, 1u);
  // An absent key that is found cannot be explained by a filter.
  for (const Lookup lookup : {Lookup::kAbsent, Lookup::kMultiAbsent}) {
    batch.lookup = lookup;
    EXPECT_THROW(CountsOf(*database, batch), std::runtime_error);
  }
}

TEST_F(DatabaseTest, CountersAddUp) {
  const auto database = Make("deltabloom-classic", DemoTree(kKeys));
  LookupKeys lookup_keys(*keys_, *database);
  const Batch batch = lookup_keys.Draw(Lookup::kAbsent, 3000);
  const Counts counts = CountsOf(*database, batch);
  EXPECT_EQ(counts.lookups, 3000u);
  EXPECT_EQ(counts.found, 0u);
  EXPECT_GT(counts.filter_useful, 3u * 3000);
  EXPECT_LE(counts.filter_useful + counts.FalsePositives(), 5u * 3000);
  // A false positive is one data block, and nothing else reads one.
  EXPECT_GT(counts.FalsePositives(), 0u);
  EXPECT_EQ(counts.data_blocks, counts.FalsePositives());
  EXPECT_LE(counts.data_block_reads, counts.data_blocks);
  const Prediction prediction = Predict(database->tree(), batch.keys);
  EXPECT_NEAR(
      static_cast<double>(counts.data_blocks) / 3000, prediction.absent.value(),
      0.25 * *prediction.absent + 6 * std::sqrt(prediction.variance / 3000));
  EXPECT_GT(prediction.present.value(), 1);
  EXPECT_LT(*prediction.present, 1 + *prediction.absent);
}

TEST_F(DatabaseTest, AllDatabasesHaveTheSameLookups) {
  Databases databases;
  const TreePlan plan = OneTable(kKeys, true);
  databases.push_back(Make("none", plan));
  databases.push_back(Make("deltabloom-local", plan));
  databases.push_back(Make("rocksdb-bloom", plan));
  LookupKeys lookup_keys(*keys_, *databases.front());
  MeasurePlan measure;
  measure.turn = {{Lookup::kAbsent, 100}, {Lookup::kPresent, 40}};
  measure.lookups = 930;
  measure.max_seconds = std::numeric_limits<double>::infinity();
  const auto counts = Measure(databases, &lookup_keys, measure, &progress_);
  ASSERT_EQ(counts.size(), 3u);
  for (const size_t i : {1u, 2u}) {
    EXPECT_EQ(counts[i][0].lookups, 930u);
    EXPECT_EQ(counts[i][1].lookups, 9u * 40 + 12);
    EXPECT_EQ(counts[i][1].found, counts[i][1].lookups);
  }
  EXPECT_EQ(counts[0][0].lookups, 200u);  // the turns 0 and 8
  EXPECT_EQ(counts[0][0].data_blocks, 200u);
  // The rate of a filter in partitions is not known.
  EXPECT_FALSE(
      Predict(databases[1]->tree(), {keys_->AbsentKey(0)}).absent.has_value());
}

// --- Trees that RocksDB grows ----------------------------------------------

// Universal compaction stays pending where its rule finds nothing to do.
TEST_F(DatabaseTest, EachCompactionBecomesIdle) {
  const std::set<std::string> names = {"dynamic-150k", "universal", "fifo"};
  for (const GrownTree& tree : GrownTrees()) {
    if (names.count(tree.name) == 0) continue;
    SCOPED_TRACE(tree.name);
    const KeySet keys(kKeys, random_.seed);
    Database database(kDefault, MakePolicy(kDefault, 10),
                      folder_.path() + "/" + tree.name, DatabaseOptions(),
                      KeysThenAgain(keys));
    database.OpenToGrow(tree.shape);
    constexpr uint64_t kFlush = 250;
    for (uint64_t i = 0; i < 2 * kKeys; i += kFlush) {
      database.Write(i, i + kFlush, &progress_);
      database.Flush();
      database.WaitUntilIdle();
    }
    database.UpdateTree();
    EXPECT_GE(database.tree().Sum(&Table::entries), kKeys);
    EXPECT_FALSE(database.tree().runs.empty());
  }
}

// --- Ranges -----------------------------------------------------------------

class SchemaTest : public ::testing::TestWithParam<Schema> {};

TEST_P(SchemaTest, EachScanFindsItsNumberOfKeysAndNeverCutsAPrefix) {
  const test::FreshRandom random;
  const SchemaKeys keys(GetParam(), 30'000, random.seed);
  EXPECT_LE(keys.size(), 30'000u);
  EXPECT_GT(keys.size(), 30'000u - 10 - GetParam().others);
  std::set<std::string> distinct;
  for (uint64_t i = 0; i < keys.size(); ++i) distinct.insert(keys.Key(i));
  EXPECT_EQ(distinct.size(), keys.size());

  constexpr std::pair<Finds, size_t> kFound[] = {
      {Finds::kNone, 0}, {Finds::kOne, 1}, {Finds::kTen, 10}};
  for (const auto& [finds, number] : kFound) {
    for (uint64_t i = 0; i < 300; ++i) {
      const Scan scan = keys.ScanOf(finds, i);
      EXPECT_LT(scan.lower, scan.upper);
      const auto found = keys.KeysIn(scan);
      ASSERT_EQ(found.size(), number) << i;
      if (GetParam().prefix == nullptr) continue;
      const auto prefix = [](std::string_view key) {
        return key.substr(0, GetParam().prefix(key));
      };
      for (const std::string_view key : found) {
        EXPECT_EQ(prefix(key), prefix(scan.lower));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, SchemaTest, ::testing::ValuesIn(Schemas()),
                         [](const auto& test) {
                           std::string name = test.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST_F(DatabaseTest, ScansFindTheirKeysAndWrongOnesAreCounted) {
  const Schema& schema = Schemas().front();
  const SchemaKeys keys(schema, kKeys, random_.seed);
  const std::vector<Scan> scans = {keys.ScanOf(Finds::kTen, 0),
                                   keys.ScanOf(Finds::kTen, 1)};
  for (const std::string& name : RangeFilterNames()) {
    SCOPED_TRACE(name);
    ScannedDatabase database(name, NewRangeFilter(name, schema, 8),
                             folder_.path() + "/" + name, DatabaseOptions(),
                             keys);
    database.Build(TreeState::kFiveRuns, &progress_);
    // auto: no delimiter in all keys. Those of RocksDB are there from 9.0 on.
    EXPECT_EQ(database.PropertyBytes() > 0,
              name == "deltabloom-ranges" || name == "rocksdb-segments");
    for (const size_t kind : {2u, 5u}) {
      database.Run(scans, kind);
      EXPECT_EQ(database.counts(kind).scans, 2u);
      EXPECT_EQ(database.counts(kind).wrong, 0u);
      EXPECT_GE(database.counts(kind).data_blocks, 2u);
    }
    ASSERT_TRUE(database.database()
                    .db()
                    ->Delete({}, std::string(keys.KeysIn(scans[0])[3]))
                    .ok());
    database.Run(scans, 2);
    EXPECT_EQ(database.counts(2).wrong, 1u);
  }
}

TEST_F(DatabaseTest, RewritingKeepsTheRuns) {
  const auto database = Make("none", DemoTree(kKeys));
  const Tree before = database->tree();
  database->Rewrite();
  const Tree& after = database->tree();
  ASSERT_EQ(after.runs.size(), before.runs.size());
  for (size_t i = 0; i < before.runs.size(); ++i) {
    EXPECT_EQ(after.runs[i].level, before.runs[i].level);
    ASSERT_EQ(after.runs[i].tables.size(), before.runs[i].tables.size());
    const Table &old = before.runs[i].tables[0],
                &rewritten = after.runs[i].tables[0];
    EXPECT_NE(rewritten.name, old.name);
    EXPECT_EQ(rewritten.entries, old.entries);
    EXPECT_EQ(rewritten.smallest, old.smallest);
  }
}

}  // namespace
}  // namespace deltabloom::db_reads
