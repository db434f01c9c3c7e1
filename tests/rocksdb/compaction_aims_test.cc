// How large levels may grow, from OPTIONS files: made up ones, and those of
// RocksDB.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "engines/rocksdb/levels/trees.h"
#include "tests/random.h"
#include "tests/rocksdb/test_db.h"

namespace deltabloom::testing {
namespace {

using internal::LevelLimits;
using internal::LimitsByFamily;
using internal::ParseLimits;

constexpr char kLeveled[] =
    "  compaction_style=kCompactionStyleLevel\n"
    "  max_bytes_for_level_base=1000\n"
    "  max_bytes_for_level_multiplier=4.500000\n"
    "  level0_file_num_compaction_trigger=4\n"
    "  level_compaction_dynamic_level_bytes=true\n";

TEST(LevelLimitsTest, OfEachFamily) {
  const LimitsByFamily all = ParseLimits(
      "# This is a RocksDB option file.\n"
      "[DBOptions]\n  max_open_files=-1\n\n"
      "[CFOptions \"default\"]\n" +
      std::string(kLeveled) +
      "[TableOptions/BlockBasedTable \"default\"]\n"
      "  max_bytes_for_level_base=7\n"
      "[CFOptions \"a [\\\"] name\"]\n"
      "  max_bytes_for_level_multiplier=10\n"
      "  max_bytes_for_level_base=268435456\n"
      "  level0_file_num_compaction_trigger=8\n"
      "[CFOptions \"universal\"]\n" +
      kLeveled +
      "  compaction_style=kCompactionStyleUniversal\n"
      "[CFOptions \"never\"]\n" +
      kLeveled +
      "  disable_auto_compactions=true\n"
      "[CFOptions \"no files\"]\n" +
      kLeveled + "  level0_file_num_compaction_trigger=none\n");
  ASSERT_EQ(all.size(), 2u);
  const LevelLimits& first = all.at("default");
  EXPECT_EQ(first.level0_files, 4);
  EXPECT_EQ(first.base_bytes, 1000);
  EXPECT_EQ(first.ratio, 4.5);
  EXPECT_TRUE(first.dynamic);
  EXPECT_EQ(first.InKeys(0.5).base_keys, 500);
  const LevelLimits& second = all.at("a [\\\"] name");
  EXPECT_EQ(second.level0_files, 8);
  EXPECT_EQ(second.base_bytes, 268435456);
  EXPECT_EQ(second.ratio, 10);
  EXPECT_FALSE(second.dynamic);
}

TEST(LevelLimitsTest, AnyBytesAreRead) {
  for (const char* const text :
       {"", "\n", "[", "[CFOptions \"", "[CFOptions \"]", "[CFOptions \"\"]",
        "=", "  =1", "max_bytes_for_level_base=1e999",
        "[CFOptions \"x\"]\n  max_bytes_for_level_base=-1\n"}) {
    EXPECT_TRUE(ParseLimits(text).empty()) << text;
  }
  const uint64_t seed = test::SeedOfThisRun();
  SCOPED_TRACE(seed);
  test::Random random(seed);
  const std::string whole = "[CFOptions \"default\"]\n" + std::string(kLeveled);
  for (int round = 0; round < 2000; ++round) {
    std::string text = whole;
    for (int change = 0; change < 3; ++change) {
      text[random.Below(text.size())] = static_cast<char>(random.Below(256));
    }
    for (const auto& [name, aims] : ParseLimits(text)) {
      EXPECT_GT(aims.level0_files, 0);
      EXPECT_GT(aims.base_bytes, 0);
      EXPECT_GE(aims.ratio, 1);
    }
  }
}

TEST(LevelLimitsTest, OfADatabaseAndWhatChangesThere) {
  TempDir dir;
  rocksdb::Options options;
  options.create_if_missing = true;
  options.max_bytes_for_level_multiplier = 5;
  options.level_compaction_dynamic_level_bytes = false;
  const auto db = Open(options, dir.Path("db"));
  std::string file;
  LimitsByFamily aims;
  internal::ReadLimits(db.get(), &file, &aims);
  ASSERT_EQ(aims.count("default"), 1u);
  EXPECT_EQ(aims["default"].ratio, 5);
  EXPECT_EQ(aims["default"].level0_files, 4);
  EXPECT_EQ(aims["default"].base_bytes, 256 << 20);
  EXPECT_FALSE(aims["default"].dynamic);

  options.compaction_style = rocksdb::kCompactionStyleFIFO;
  rocksdb::ColumnFamilyHandle* handle = nullptr;
  ASSERT_ROCKSDB_OK(db->CreateColumnFamily(options, "fifo", &handle));
  ASSERT_ROCKSDB_OK(
      db->SetOptions({{"level0_file_num_compaction_trigger", "7"}}));
  internal::ReadLimits(db.get(), &file, &aims);
  EXPECT_EQ(aims.size(), 1u);
  EXPECT_EQ(aims["default"].level0_files, 7);
  // Nothing new: nothing is read.
  aims.clear();
  internal::ReadLimits(db.get(), &file, &aims);
  EXPECT_TRUE(aims.empty());
  ASSERT_ROCKSDB_OK(db->DestroyColumnFamilyHandle(handle));
}

}  // namespace
}  // namespace deltabloom::testing
