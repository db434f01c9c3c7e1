// Changes of a tree of which RocksDB tells its listeners nothing: what
// allocation=levels takes the tree for afterwards.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engines/rocksdb/levels/trees.h"
#include "rocksdb/convenience.h"
#include "tests/rocksdb/levels_db.h"

namespace deltabloom::testing {
namespace {

using rocksdb::ColumnFamilyMetaData;

// "L0:100 L0:100 L3:800", as the policy has it.
std::string Known(const std::string& path, const std::string& family) {
  const auto trees = internal::FindTrees(path);
  if (trees == nullptr) return "no tree";
  const std::lock_guard<std::mutex> lock(trees->mutex);
  internal::ApplySilentChanges(trees.get());
  const auto it = trees->families.find(family);
  if (it == trees->families.end()) return "no family";
  std::string text;
  for (const internal::TreeRun& run : it->second.bits.Runs()) {
    text += (text.empty() ? "L" : " L") + std::to_string(run.level) + ":" +
            std::to_string(static_cast<uint64_t>(run.keys));
  }
  return text;
}

class LevelsSilentChangesTest : public ::testing::Test {
 protected:
  void Open() {
    rocksdb::Options options = SmallTrees();
    options.disable_auto_compactions = true;
    db_.Open(options, LevelsOptions());
  }

  // Tables of 100 keys each in level 0.
  void Fill(int tables) {
    for (int i = 0; i < tables * 100; ++i) {
      db_.Put(Scattered(next_++));
      if (next_ % 100 == 0) ASSERT_ROCKSDB_OK(db_.db()->Flush({}));
    }
  }

  void CompactFiles(int from, int to) {
    ColumnFamilyMetaData metadata;
    db_.db()->GetColumnFamilyMetaData(&metadata);
    std::vector<std::string> files;
    for (const auto& file : metadata.levels[static_cast<size_t>(from)].files) {
      files.push_back(file.name);
    }
    ASSERT_ROCKSDB_OK(db_.db()->CompactFiles({}, files, to));
  }

  std::string Tree() { return Known(db_.path(), "default"); }

  LevelsDb db_;
  uint64_t next_ = 0;
};

// No event comes between.
TEST_F(LevelsSilentChangesTest, CompactFiles) {
  Open();
  Fill(3);
  EXPECT_EQ(Tree(), "L0:100 L0:100 L0:100");
  CompactFiles(0, 2);
  EXPECT_EQ(Tree(), "L2:300");
  CompactFiles(2, 4);
  EXPECT_EQ(Tree(), "L4:300");
  CompactFiles(4, 4);
  EXPECT_EQ(Tree(), "L4:300");
  Fill(1);
  EXPECT_EQ(Tree(), "L0:100 L4:300");
}

// The inputs are still needed, so that none is deleted: the next event tells.
TEST_F(LevelsSilentChangesTest, CompactFilesWhileTheOldOnesAreRead) {
  Open();
  Fill(2);
  const std::unique_ptr<rocksdb::Iterator> reader(db_.db()->NewIterator({}));
  CompactFiles(0, 2);
  Fill(1);
  EXPECT_EQ(Tree(), "L0:100 L2:200");
}

TEST_F(LevelsSilentChangesTest, CompactFilesThatFail) {
  Open();
  Fill(2);
  const std::vector<std::string> missing = {"999999.sst"};
  EXPECT_FALSE(db_.db()->CompactFiles({}, missing, 2).ok());
  EXPECT_EQ(Tree(), "L0:100 L0:100");
}

TEST_F(LevelsSilentChangesTest, DeletedRanges) {
  Open();
  Fill(2);
  CompactFiles(0, 2);
  Fill(1);
  ASSERT_ROCKSDB_OK(rocksdb::DeleteFilesInRange(
      db_.db(), db_.db()->DefaultColumnFamily(), nullptr, nullptr));
  EXPECT_EQ(Tree(), "L0:100");
  Fill(1);
  EXPECT_EQ(Tree(), "L0:100 L0:100");
}

// What compactions aim at, and that it is taken over.
TEST_F(LevelsSilentChangesTest, SetOptions) {
  Open();
  Fill(2);
  const auto limits = [this] {
    const auto trees = internal::FindTrees(db_.path());
    const std::lock_guard<std::mutex> lock(trees->mutex);
    return trees->families.at("default").bits.limits();
  };
  EXPECT_EQ(limits().level0_files, 0);  // nothing is compacted
  ASSERT_ROCKSDB_OK(
      db_.db()->SetOptions({{"disable_auto_compactions", "false"},
                            {"level0_file_num_compaction_trigger", "7"},
                            {"max_bytes_for_level_base", "20000"}}));
  Fill(1);
  EXPECT_EQ(limits().level0_files, 7);
  EXPECT_EQ(limits().ratio, 4);
  ColumnFamilyMetaData metadata;
  db_.db()->GetColumnFamilyMetaData(&metadata);
  EXPECT_NEAR(limits().base_keys,
              20'000 * 300 / static_cast<double>(metadata.size), 1);
}

// From its first table on.
TEST_F(LevelsSilentChangesTest, NewColumnFamilies) {
  Open();
  Fill(30);
  rocksdb::ColumnFamilyHandle* family = nullptr;
  ASSERT_ROCKSDB_OK(
      db_.db()->CreateColumnFamily(db_.options(), "second", &family));
  EXPECT_EQ(Known(db_.path(), "second"), "no family");
  ASSERT_ROCKSDB_OK(db_.db()->Put({}, family, "key", "value"));
  ASSERT_ROCKSDB_OK(db_.db()->Flush({}, family));
  EXPECT_EQ(Known(db_.path(), "second"), "L0:1");
  ASSERT_ROCKSDB_OK(db_.db()->DropColumnFamily(family));
  ASSERT_ROCKSDB_OK(db_.db()->DestroyColumnFamilyHandle(family));
}

}  // namespace
}  // namespace deltabloom::testing
