// The trees of a process: found by name, forgotten with their database, handed
// from listener to policy on one thread.
#include "engines/rocksdb/levels/trees.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "tests/rocksdb/levels_db.h"

namespace deltabloom::testing {
namespace {

TEST(TreesTest, ANoteIsForOneFamilyOneThreadAndOneUse) {
  internal::TableAnnouncement note;
  EXPECT_FALSE(internal::TakeAnnouncement("default", &note));
  internal::AnnounceTable({"default", "000007.sst", 3, nullptr});
  std::thread([] {
    internal::TableAnnouncement other;
    EXPECT_FALSE(internal::TakeAnnouncement("default", &other));
  }).join();
  EXPECT_TRUE(internal::TakeAnnouncement("default", &note));
  EXPECT_EQ(note.path, "000007.sst");
  EXPECT_EQ(note.job, 3);
  EXPECT_FALSE(internal::TakeAnnouncement("default", &note));
  // One that is stale is gone, too.
  internal::AnnounceTable({"other", "000008.sst", 3, nullptr});
  EXPECT_FALSE(internal::TakeAnnouncement("default", &note));
  EXPECT_FALSE(internal::TakeAnnouncement("other", &note));
}

TEST(TreesTest, FoundByNameUntilTheDatabaseIsClosed) {
  int first = 0;
  int second = 0;
  const auto trees = internal::TreesOf("/a", &first);
  EXPECT_EQ(internal::TreesOf("/a", &first), trees);
  EXPECT_EQ(internal::FindTrees("/a"), trees);
  EXPECT_EQ(internal::FindTrees("/b"), nullptr);
  // Opened anew without a word that it was closed.
  EXPECT_NE(internal::TreesOf("/a", &second), trees);
  internal::ForgetTrees(&first);
  EXPECT_NE(internal::FindTrees("/a"), nullptr);
  internal::ForgetTrees(&second);
  EXPECT_EQ(internal::FindTrees("/a"), nullptr);
}

TEST(TreesTest, NothingIsKeptOfClosedDatabases) {
  LevelsDb db;
  db.Open(SmallTrees(), LevelsOptions());
  for (int i = 0; i < 20; ++i) {
    db.Put(Scattered(static_cast<uint64_t>(i)));
    db.Settle();
    EXPECT_EQ(internal::AllTrees().size(), 1u);
    db.Close();
    EXPECT_EQ(internal::AllTrees().size(), 0u);
    // With the same listener, which stays with the options.
    db.Reopen(db.options());
  }
  db.Put("key");
  db.Settle();
  db.Close();
  EXPECT_EQ(internal::AllTrees().size(), 0u);
  EXPECT_EQ(RocksDBFilterLevelsJson(), "{\"databases\":[]}");
}

}  // namespace
}  // namespace deltabloom::testing
