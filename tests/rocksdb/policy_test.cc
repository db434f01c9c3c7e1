// What a policy hands to its builders, and what it writes into LOGs.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "engines/rocksdb/policy/private_abi.h"
#include "table/framing.h"
#include "tests/rocksdb/line_logger.h"
#include "tests/rocksdb/test_db.h"

namespace deltabloom::testing {
namespace {

using rocksdb::BlockBasedTableOptions;
using rocksdb::FilterBitsBuilder;
using rocksdb::FilterBuildingContext;
using rocksdb::Slice;

struct Context {
  BlockBasedTableOptions table;
  int level = 0;
  bool bottommost = false;
  rocksdb::Logger* log = nullptr;
};

std::unique_ptr<FilterBitsBuilder> NewBuilder(
    const rocksdb::FilterPolicy& policy, const Context& context) {
  FilterBuildingContext building(context.table);
  building.level_at_creation = context.level;
  building.is_bottommost = context.bottommost;
  building.info_log = context.log;
  return std::unique_ptr<FilterBitsBuilder>(
      policy.GetBuilderWithContext(building));
}

TEST(PolicyTest, SealsTheLevelOfTheTable) {
  const PolicyPtr policy = Deltabloom();
  for (const int level : {0, 1, 3, 6, 63, 126, 127, 128, 255, 1000, -1}) {
    for (const bool bottommost : {false, true}) {
      Context context;
      context.level = level;
      context.bottommost = bottommost;
      const auto builder = NewBuilder(*policy, context);
      builder->AddKey("key");
      std::unique_ptr<const char[]> owner;
      const Slice filter = builder->Finish(&owner);
      const int most = bottommost ? 126 : 127;
      EXPECT_EQ(
          internal::SealedLevel({filter.data(), filter.size()}),
          level < 0 || level > most ? 255 : level + (bottommost ? 128 : 0));
    }
  }
}

// Under ASan; without it the memory may still look sound.
TEST(PolicyTest, BuilderMayOutliveThePolicy) {
  Context context;
  context.table.optimize_filters_for_memory = true;
  const auto builder = NewBuilder(*Deltabloom(), context);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 1000; ++i) builder->AddKey(Key(i));
    std::unique_ptr<const char[]> owner;
    const Slice filter = builder->Finish(&owner);
    const auto reader = internal::NewBitsReader(*Deltabloom(), filter);
    for (int i = 0; i < 1000; ++i) EXPECT_TRUE(reader->MayMatch(Key(i)));
  }
}

// The number that the documents name, once per policy.
TEST(PolicyTest, WarnsOnceOfMoreThan20MillionClassicKeys) {
  LineLogger log;
  Context context;
  context.log = &log;
  const PolicyPtr policy = PolicyFromString("deltabloom:0.5:classic");
  const auto warnings = [&](uint64_t keys) {
    const auto builder = NewBuilder(*policy, context);
    std::string key = "12345678";
    for (uint64_t i = 0; i < keys; ++i) {
      std::memcpy(key.data(), &i, sizeof(i));
      builder->AddKey(key);
    }
    // Adjacent keys of one hash count once.
    for (uint64_t i = keys; builder->EstimateEntriesAdded() < keys; ++i) {
      std::memcpy(key.data(), &i, sizeof(i));
      builder->AddKey(key);
    }
    std::unique_ptr<const char[]> owner;
    builder->Finish(&owner);
    return log.Lines("keys in one classic filter");
  };
  EXPECT_TRUE(warnings(20'000'000).empty());
  const std::vector<std::string> first = warnings(20'000'001);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_NE(first[0].find("[deltabloom] 20000001 keys"), std::string::npos)
      << first[0];
  EXPECT_NE(first[0].find("use another layout or partitioned filters"),
            std::string::npos)
      << first[0];
  EXPECT_EQ(warnings(20'000'001).size(), 1u);
}

constexpr char kConfigurationLine[] = "[deltabloom] version ";

int Count(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST(PolicyTest, OneLogLineWithTheConfiguration) {
  TempDir dir;
  const PolicyPtr policy = PolicyFromString("deltabloom:9.9");
  auto db = Open(MakeOptions({policy, false, nullptr}), dir.Path("db"));
  for (int i = 0; i < 3; ++i) Load(db.get(), 10 * i, 10 * i + 10);
  const std::string line =
      std::string(kConfigurationLine) +
      "0.1.0: bits_per_key=9.9 layout=auto "
      "allocation=uniform compatibility=builtin max_build_bytes=0 "
      "payload_check=off seeded=off key_transform=none "
      "statistics=on statistics_log_seconds=600 "
      "false_positive_rate=0 max_filter_bytes=unlimited range=off "
      "name=rocksdb.BuiltinBloomFilter cpu=";
  EXPECT_EQ(Count(ReadFile(dir.Path("db/LOG")), line), 1);
  ASSERT_ROCKSDB_OK(db->SetOptions(
      {{"block_based_table_factory", "{filter_policy={bits_per_key=12;}}"}}));
  Load(db.get(), 100, 200);
  const std::string log = ReadFile(dir.Path("db/LOG"));
  EXPECT_EQ(Count(log, line), 1);
  EXPECT_EQ(Count(log, kConfigurationLine), 2);
  EXPECT_EQ(Count(log, "bits_per_key=12 layout=auto"), 1);
}

// One after the other, so that the loggers' addresses come again. Each LOG is
// longer than the one before, or its size alone would tell it.
TEST(PolicyTest, EveryDatabaseGetsItsLogLine) {
  TempDir dir;
  const PolicyPtr policy = Deltabloom();
  for (int i = 0; i < 40; ++i) {
    const std::string path = dir.Path("db" + std::to_string(i));
    const auto db = Open(MakeOptions({policy, false, nullptr}), path);
    const auto log = db->GetDBOptions().info_log;
    const std::string filler(900, '.');
    for (int line = 0; line < 10 * i; ++line) {
      rocksdb::Info(log, "%s", filler.c_str());
    }
    Load(db.get(), 0, 10);
    Load(db.get(), 10, 20);
    EXPECT_EQ(Count(ReadFile(path + "/LOG"), kConfigurationLine), 1) << path;
  }
}

TEST(PolicyTest, EveryOpenDatabaseGetsItsLogLine) {
  TempDir dir;
  const PolicyPtr policy = Deltabloom();
  std::vector<std::unique_ptr<rocksdb::DB>> databases;
  for (int i = 0; i < 10; ++i) {
    databases.push_back(Open(MakeOptions({policy, false, nullptr}),
                             dir.Path("db" + std::to_string(i))));
  }
  for (int round = 0; round < 2; ++round) {
    for (const auto& db : databases) {
      Load(db.get(), 10 * round, 10 * round + 10);
      EXPECT_EQ(Count(ReadFile(db->GetName() + "/LOG"), kConfigurationLine), 1);
    }
  }
}

// A LOG that is rolled begins anew.
TEST(PolicyTest, ShorterLogGetsTheLineAgain) {
  class SizedLogger : public LineLogger {
   public:
    size_t GetLogFileSize() const override { return size; }
    size_t size = 1000;
  };
  SizedLogger log;
  Context context;
  context.log = &log;
  const PolicyPtr policy = Deltabloom();
  const auto lines = [&](size_t size) {
    log.size = size;
    NewBuilder(*policy, context);
    return log.Lines(kConfigurationLine).size();
  };
  EXPECT_EQ(lines(1000), 1u);
  EXPECT_EQ(lines(1000), 1u);
  EXPECT_EQ(lines(3000), 1u);
  EXPECT_EQ(lines(2999), 2u);
  EXPECT_EQ(lines(2999), 2u);
}

}  // namespace
}  // namespace deltabloom::testing
