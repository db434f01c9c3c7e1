#include "db_bench_ext/demo/database.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "db_bench_ext/common/files.h"
#include "db_bench_ext/common/program.h"
#include "db_bench_ext/demo/measure.h"
#include "tests/random.h"

namespace deltabloom::demo {
namespace {

constexpr uint64_t kKeys = 5000;

KeySet MakeKeys(uint64_t size, uint64_t seed) {
  std::vector<std::string> words;
  for (int i = 0; i < 2000; ++i) words.push_back("w" + std::to_string(i));
  return KeySet(words, size, seed);
}

class DatabaseTest : public ::testing::Test {
 protected:
  // Number `index` of the competitors, loaded with these runs and open.
  std::unique_ptr<Database> MakeDatabase(size_t index, const KeySet& keys,
                                         const std::vector<RunPlan>& plan) {
    const Competitor competitor = competitors_[index];
    auto database = std::make_unique<Database>(
        competitor, workspace_.Add(competitor.name + std::to_string(made_++)),
        false);
    database->Load(keys, plan, &progress_);
    database->OpenForMeasuring();
    return database;
  }

  const uint64_t seed_ = test::SeedOfThisRun();
  const ::testing::ScopedTrace trace_{
      __FILE__, __LINE__, "DELTABLOOM_SEED=" + std::to_string(seed_)};
  bench::Workspace workspace_{"", "deltabloom-demo"};
  std::vector<Competitor> competitors_ =
      MakeCompetitors(10, {"classic", "auto", "auto:levels"});
  bench::ProgressBar progress_{1};
  int made_ = 0;
};

TEST(PlanRuns, MakesFiveRunsOfAllKeys) {
  for (const uint64_t keys : {1000u, 1337u, 2000000u, 100000000u}) {
    const std::vector<RunPlan> plan = PlanRuns(keys);
    ASSERT_EQ(plan.size(), 5u);
    uint64_t sum = 0;
    for (const RunPlan& run : plan) {
      EXPECT_GT(run.keys, 0u);
      sum += run.keys;
    }
    EXPECT_EQ(sum, keys);
  }
}

TEST_F(DatabaseTest, EveryFilterSettlesToThePlannedTree) {
  const KeySet keys = MakeKeys(kKeys, seed_);
  const std::vector<RunPlan> plan = PlanRuns(kKeys);
  std::vector<std::unique_ptr<Database>> databases;
  for (size_t i = 0; i < competitors_.size(); ++i) {
    databases.push_back(MakeDatabase(i, keys, plan));
    const std::vector<SortedRun> runs = databases.back()->Runs();
    ASSERT_EQ(runs.size(), plan.size());
    for (size_t r = 0; r < runs.size(); ++r) {
      const RunPlan& planned = plan[plan.size() - 1 - r];
      EXPECT_EQ(runs[r].level, planned.level);
      EXPECT_EQ(runs[r].keys, planned.keys);
    }
    const TableTotals totals = databases.back()->Totals();
    EXPECT_EQ(totals.filter_entries, i == 0 ? 0 : kKeys);
    EXPECT_EQ(totals.filter_bytes > 0, i != 0);
  }
  RequireSameTree(databases);
}

TEST_F(DatabaseTest, LevelsSpreadsTheBytesOfTheTree) {
  constexpr uint64_t kMany = 40000;
  const KeySet keys = MakeKeys(kMany, seed_);
  const auto bloom = MakeDatabase(1, keys, PlanRuns(kMany));
  const auto uniform = MakeDatabase(4, keys, PlanRuns(kMany));
  const auto levels = MakeDatabase(5, keys, PlanRuns(kMany));
  ASSERT_EQ(levels->name().substr(0, 22), "deltabloom-auto-levels");
  const auto bytes = [](const auto& database) {
    return static_cast<double>(database->Totals().filter_bytes);
  };
  EXPECT_NEAR(bytes(levels) / bytes(uniform), 1, 0.03);
  LookupKeys lookup_keys(keys, levels->SmallestKey(), levels->LargestKey(),
                         seed_);
  const std::vector<std::string> absent = lookup_keys.Absent(20000);
  const auto counted = [&](const auto& database) {
    return LookUp(*database, absent).filter_false_positives;
  };
  // By the formulas some 50, 400 and 950.
  EXPECT_LT(2 * counted(levels), counted(uniform));
  EXPECT_LT(counted(uniform), 0.8 * static_cast<double>(counted(bloom)));
}

TEST_F(DatabaseTest, DifferentTreesAreRefused) {
  const KeySet keys = MakeKeys(kKeys, seed_);
  std::vector<std::unique_ptr<Database>> databases;
  databases.push_back(MakeDatabase(0, keys, {{1, 4000}, {0, 1000}}));
  databases.push_back(MakeDatabase(1, keys, {{1, 3999}, {0, 1001}}));
  EXPECT_THROW(RequireSameTree(databases), std::runtime_error);
}

TEST_F(DatabaseTest, TablesWithoutTheirFilterAreRefused) {
  const KeySet keys = MakeKeys(kKeys, seed_);
  const std::filesystem::path path = workspace_.Add("mixed");
  for (const auto& [written, opened] :
       {std::pair<size_t, size_t>{0, 1}, std::pair<size_t, size_t>{3, 0}}) {
    std::filesystem::remove_all(path);
    Database(competitors_[written], path, false)
        .Load(keys, {{0, kKeys}}, &progress_);
    Database database(competitors_[opened], path, false);
    EXPECT_THROW(database.OpenForMeasuring(), std::runtime_error);
  }
}

TEST_F(DatabaseTest, MissedKeysAreCounted) {
  const KeySet keys = MakeKeys(kKeys, seed_);
  const auto database = MakeDatabase(3, keys, {{1, 4000}, {0, 1000}});
  KeyCheck check = CheckKeys(*database, kKeys, 60, &progress_);
  EXPECT_EQ(check.looked_up, kKeys);
  EXPECT_EQ(check.missed, 0u);
  EXPECT_EQ(CheckKeys(*database, kKeys + 7, 60, &progress_).missed, 7u);
  // A wrong value is a miss, too.
  ASSERT_TRUE(database->db()
                  ->Put(rocksdb::WriteOptions(), keys.Key(11), "something else")
                  .ok());
  EXPECT_EQ(CheckKeys(*database, kKeys, 60, &progress_).missed, 1u);
  // Keys for which there is no time are not missed ones.
  check = CheckKeys(*database, kKeys + 7, 0, &progress_);
  EXPECT_LT(check.looked_up, kKeys);
  EXPECT_LE(check.missed, 1u);
  EXPECT_EQ(LookUp(*database, {keys.Key(10), keys.Key(11)}).found, 1u);
}

TEST_F(DatabaseTest, LookupsOfPresentKeysThatAreMissedAreCounted) {
  const KeySet keys = MakeKeys(kKeys, seed_);
  std::vector<std::unique_ptr<Database>> databases;
  databases.push_back(MakeDatabase(3, keys, {{1, 2500}}));  // the first half
  LookupKeys lookup_keys(keys, "", "x", seed_);
  MeasurePlan plan;
  plan.lookups = 2000 * kAbsentPerPresent;
  plan.max_seconds = std::numeric_limits<double>::infinity();
  const Measurement measurement =
      Measure(databases, &lookup_keys, plan, &progress_).front();
  EXPECT_EQ(measurement.absent.lookups, 10000u);
  EXPECT_EQ(measurement.present.lookups, 2000u);
  // Half of 2000 plus or minus eight standard deviations.
  EXPECT_GT(measurement.missed_present_keys, 1000u - 8 * 23);
  EXPECT_LT(measurement.missed_present_keys, 1000u + 8 * 23);
}

TEST_F(DatabaseTest, AbsentLookupsStayInsideTheKeyRange) {
  const KeySet keys = MakeKeys(kKeys, seed_);
  LookupKeys lookup_keys(keys, "w3", "w4", seed_);
  for (const std::string& key : lookup_keys.Absent(500)) {
    EXPECT_LT("w3", key);
    EXPECT_LT(key, "w4");
  }
}

TEST_F(DatabaseTest, CountersAddUp) {
  const KeySet keys = MakeKeys(kKeys, seed_);
  const auto database = MakeDatabase(3, keys, PlanRuns(kKeys));
  LookupKeys lookup_keys(keys, database->SmallestKey(), database->LargestKey(),
                         seed_);
  const LookupStats stats = LookUp(*database, lookup_keys.Absent(3000));
  EXPECT_EQ(stats.lookups, 3000u);
  EXPECT_EQ(stats.found, 0u);
  EXPECT_GT(stats.filter_useful, 3u * 3000);
  EXPECT_LE(stats.filter_useful + stats.filter_false_positives, 5u * 3000);
  EXPECT_GT(stats.filter_false_positives, 0u);
  // Only a false positive can make it read a block.
  EXPECT_LE(stats.data_block_reads, stats.filter_false_positives);
}

TEST(Workspace, SaysHowMuchSpaceIsMissing) {
  const bench::Workspace workspace("", "deltabloom-demo");
  EXPECT_NO_THROW(workspace.RequireFreeBytes(1));
  try {
    workspace.RequireFreeBytes(uint64_t{1} << 60);
    FAIL() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("free some, lower --keys"),
              std::string::npos)
        << error.what();
  }
}

TEST(Competitors, AnUnknownLayoutIsNamed) {
  try {
    MakeCompetitors(10, {"nonsense"});
    FAIL() << "no error";
  } catch (const bench::UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("nonsense"), std::string::npos);
  }
  EXPECT_THROW(MakeCompetitors(10, {"auto:nonsense"}), bench::UsageError);
}

TEST(Competitors, AListenerGoesWithLevelsAlone) {
  const std::vector<Competitor> competitors =
      MakeCompetitors(10, {"auto", "local:levels"});
  ASSERT_EQ(competitors.size(), 5u);
  EXPECT_EQ(competitors[3].name, "deltabloom-auto");
  EXPECT_EQ(competitors[4].name, "deltabloom-local-levels");
  for (const Competitor& competitor : competitors) {
    EXPECT_EQ(competitor.listener != nullptr, &competitor == &competitors[4]);
  }
}

}  // namespace
}  // namespace deltabloom::demo
