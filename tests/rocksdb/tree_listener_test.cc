// What a listener learns of single events, of tables that no database has.
#include "engines/rocksdb/levels/tree_listener.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "rocksdb/listener.h"
#include "tests/rocksdb/test_db.h"

namespace deltabloom::internal {
namespace {

using rocksdb::TableFileCreationInfo;
using rocksdb::TableFileCreationReason;
using rocksdb::TableFileDeletionInfo;

class TreeListenerTest : public ::testing::Test {
 protected:
  TreeListenerTest() : trees_(TreesOf("/db", this)) {
    trees_->families["default"];
  }
  ~TreeListenerTest() override { ForgetTrees(this); }

  // A table was written by a flush.
  void Created(const std::string& path, uint64_t entries,
               uint64_t filter_entries, uint64_t filter_size) {
    TableFileCreationInfo info;
    info.db_name = "/db";
    info.cf_name = "default";
    info.file_path = path;
    info.reason = TableFileCreationReason::kFlush;
    info.table_properties.num_entries = entries;
    info.table_properties.num_filter_entries = filter_entries;
    info.table_properties.filter_size = filter_size;
    listener_.OnTableFileCreated(info);
  }
  void Deleted(const std::string& path) {
    TableFileDeletionInfo info;
    info.db_name = "/db";
    info.file_path = path;
    listener_.OnTableFileDeleted(info);
  }
  TreeBits& tree() { return trees_->families["default"].bits; }

  TreeListener listener_;
  std::shared_ptr<DatabaseTrees> trees_;
};

TEST_F(TreeListenerTest, KeysAreThoseOfTheFilterIfThereIsOne) {
  Created("/db/000007.sst", 100, 80, 1000);
  EXPECT_EQ(tree().KeysOf(7), 80u);
  Created("/db/000008.sst", 100, 0, 1000);  // of a RocksDB that counts none
  EXPECT_EQ(tree().KeysOf(8), 100u);
  Created("000009.sst", 100, 0, 0);
  EXPECT_EQ(tree().KeysOf(9), 100u);
  EXPECT_TRUE(tree().Knows(9));
}

TEST_F(TreeListenerTest, NamesOfOtherFilesAreNotNumbers) {
  for (const char* path : {"", "/", "/db/", "/db/name.sst", "/db/7/name"}) {
    Created(path, 100, 100, 1000);
    EXPECT_EQ(tree().files(), 0u) << path;
  }
}

TEST_F(TreeListenerTest, DeletedTablesAreForgotten) {
  Created("/db/000007.sst", 100, 100, 1000);
  Deleted("/db/000007.sst");
  EXPECT_EQ(tree().files(), 0u);
  EXPECT_EQ(trees_->silent_changes, 0u);
  // One of the tree goes when it is known what is there in its place.
  Created("/db/000008.sst", 100, 100, 1000);
  tree().SetTree({{8, 0, 0}});
  Deleted("/db/000008.sst");
  EXPECT_TRUE(tree().HasInTree(8));
  EXPECT_EQ(trees_->silent_changes, 1u);
  ApplySilentChanges(trees_.get());
  EXPECT_EQ(tree().files(), 0u);
}

// RocksDB is asked for the whole tree rarely where there are many tables, but
// at once about a column family that is new.
TEST(TreeListenerOfADatabaseTest, NewFamilies) {
  testing::TempDir dir;
  rocksdb::Options options;
  options.create_if_missing = true;
  options.disable_auto_compactions = true;
  options.listeners.push_back(std::make_shared<TreeListener>());
  const auto db = testing::Open(options, dir.Path("db"));
  const auto flush = [&db](rocksdb::ColumnFamilyHandle* family) {
    ASSERT_ROCKSDB_OK(db->Put({}, family, "key", "value"));
    ASSERT_ROCKSDB_OK(db->Flush({}, family));
  };
  for (int i = 0; i < 40; ++i) flush(db->DefaultColumnFamily());
  const auto trees = FindTrees(dir.Path("db"));
  ASSERT_NE(trees, nullptr);
  EXPECT_EQ(trees->families["default"].bits.files(), 40u);
  const uint64_t silent = trees->silent_changes;
  flush(db->DefaultColumnFamily());
  EXPECT_EQ(trees->silent_changes, silent);
  rocksdb::ColumnFamilyHandle* family = nullptr;
  ASSERT_ROCKSDB_OK(db->CreateColumnFamily(options, "new", &family));
  flush(family);
  EXPECT_EQ(trees->families.count("new"), 1u);
  EXPECT_EQ(trees->families["new"].bits.files(), 1u);
  ASSERT_ROCKSDB_OK(db->DestroyColumnFamilyHandle(family));
}

}  // namespace
}  // namespace deltabloom::internal
