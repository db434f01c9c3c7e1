// Tests what the model reports as lost, what is left of files after a loss of
// power, how reads and writes fail, and that the torture finds planted errors.
#include "tests/torture/torture.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <utility>

#include "db_bench_ext/common/files.h"
#include "engines/rocksdb/policy/private_abi.h"
#include "tests/folder.h"
#include "tests/random.h"
#include "tests/rocksdb/delegating_policy.h"

namespace deltabloom::torture {
namespace {

using rocksdb::FileOptions;
using rocksdb::FileSystem;
using rocksdb::IOOptions;
using rocksdb::Slice;

constexpr uint32_t kKey = 42;

// --- The model ---------------------------------------------------------------

class TortureModelTest : public ::testing::Test {
 protected:
  TortureModelTest() { before_.slots[0][kKey] = "old"; }

  Record* Begin(Kind kind, uint64_t id = 0) {
    Record* const record = journal_->New();
    record->kind = kind;
    record->key = kKey;
    record->key_end = kKey + 1;
    record->id = id;
    journal_->Begin(record);
    return record;
  }
  Record* Do(Kind kind, uint64_t id = 0) {
    Record* const record = Begin(kind, id);
    journal_->End(record, Outcome::kDone);
    return record;
  }
  bool MayBe(Ending ending, const Value& value, uint64_t from = UINT64_MAX,
             uint64_t until = UINT64_MAX) {
    const Model model(&before_, journal_, ending, from, until);
    return model.Judge(0, kKey, value).empty();
  }

  State before_;
  Journal* const journal_ = Journal::Create();
};

TEST_F(TortureModelTest, AcknowledgedIsThereAfterAKillAndInFlightMayBe) {
  EXPECT_TRUE(MayBe(Ending::kPowerLost, "old"));
  EXPECT_FALSE(MayBe(Ending::kPowerLost, std::nullopt));
  Do(Kind::kPut, 1);
  EXPECT_TRUE(MayBe(Ending::kKilled, ValueText(1)));
  EXPECT_FALSE(MayBe(Ending::kKilled, "old"));
  // Only synced writes must survive a loss of power.
  EXPECT_TRUE(MayBe(Ending::kPowerLost, "old"));
  EXPECT_TRUE(MayBe(Ending::kPowerLost, ValueText(1)));
  EXPECT_FALSE(MayBe(Ending::kPowerLost, std::nullopt));
  Begin(Kind::kMerge, 2);
  EXPECT_TRUE(MayBe(Ending::kKilled, ValueText(1)));
  EXPECT_TRUE(MayBe(Ending::kKilled, Merged(ValueText(1), ValueText(2))));
  EXPECT_FALSE(MayBe(Ending::kKilled, Merged("old", ValueText(2))));
}

TEST_F(TortureModelTest, ASyncMakesEarlierWritesDurable) {
  Do(Kind::kPut, 1);
  Do(Kind::kClose);  // syncs no log
  EXPECT_TRUE(MayBe(Ending::kPowerLost, "old"));
  Record* const elsewhere = journal_->New();
  elsewhere->key = kKey + 1;
  elsewhere->synced = true;
  journal_->Begin(elsewhere);
  EXPECT_TRUE(MayBe(Ending::kPowerLost, "old"));
  journal_->End(elsewhere, Outcome::kDone);
  EXPECT_FALSE(MayBe(Ending::kPowerLost, "old"));
  Do(Kind::kDelete);
  EXPECT_TRUE(MayBe(Ending::kPowerLost, ValueText(1)));
  Do(Kind::kSync);
  EXPECT_FALSE(MayBe(Ending::kPowerLost, ValueText(1)));
  EXPECT_TRUE(MayBe(Ending::kPowerLost, std::nullopt));
}

TEST_F(TortureModelTest, WhatIsInNoLogNeedsAFlushOrAClose) {
  Do(Kind::kPut, 1)->no_log = true;
  Do(Kind::kSync);
  EXPECT_TRUE(MayBe(Ending::kKilled, "old"));
  Do(Kind::kFlush);
  EXPECT_FALSE(MayBe(Ending::kKilled, "old"));
  EXPECT_FALSE(MayBe(Ending::kPowerLost, "old"));
  Do(Kind::kDeleteRange)->no_log = true;
  EXPECT_TRUE(MayBe(Ending::kKilled, ValueText(1)));
  Do(Kind::kClose);
  EXPECT_FALSE(MayBe(Ending::kKilled, ValueText(1)));
}

TEST_F(TortureModelTest, IngestedStaysAndRolledBackDoesNot) {
  Do(Kind::kPut, 1)->stays = true;
  EXPECT_FALSE(MayBe(Ending::kPowerLost, "old"));
  journal_->End(Begin(Kind::kPut, 2), Outcome::kUndone);
  EXPECT_FALSE(MayBe(Ending::kKilled, ValueText(2)));
  EXPECT_TRUE(MayBe(Ending::kKilled, ValueText(1)));
}

// An ingested file is in no log.
TEST_F(TortureModelTest, ACopyMayMissAnIngestedFileAndHaveLaterWrites) {
  Do(Kind::kPut, 1);
  const uint64_t from = journal_->Now();
  Do(Kind::kPut, 2)->stays = true;
  Do(Kind::kMerge, 3);
  const uint64_t until = journal_->Now();
  Do(Kind::kPut, 4);
  const auto may_be = [&](const Value& value) {
    return MayBe(Ending::kKilled, value, from, until);
  };
  EXPECT_TRUE(may_be(ValueText(1)));
  EXPECT_TRUE(may_be(ValueText(2)));
  EXPECT_TRUE(may_be(Merged(ValueText(1), ValueText(3))));
  EXPECT_TRUE(may_be(Merged(ValueText(2), ValueText(3))));
  EXPECT_FALSE(may_be("old"));
  EXPECT_FALSE(may_be(ValueText(3)));
  EXPECT_FALSE(may_be(ValueText(4)));
  EXPECT_FALSE(MayBe(Ending::kKilled, Merged(ValueText(1), ValueText(3))));
}

// --- The disk ----------------------------------------------------------------

class TortureDiskTest : public ::testing::Test {
 protected:
  TortureDiskTest() {
    plan_.database = folder_.path() + "/database";
    plan_.notes = folder_.path() + "/notes";
    std::filesystem::create_directories(plan_.database);
    std::filesystem::create_directories(plan_.notes);
  }

  std::string Path(const std::string& name) const {
    return plan_.database + "/" + name;
  }
  // "-" if there is no such file.
  std::string Content(const std::string& name) const {
    const std::string path = Path(name);
    return std::filesystem::exists(path) ? test::ReadFile(path) : "-";
  }
  // A file of which `synced` is synced and `rest` is not.
  void Write(FileSystem* disk, const std::string& name,
             const std::string& synced, const std::string& rest) {
    std::unique_ptr<rocksdb::FSWritableFile> file;
    ASSERT_TRUE(
        disk->NewWritableFile(Path(name), FileOptions(), &file, nullptr).ok());
    ASSERT_TRUE(file->Append(synced, IOOptions(), nullptr).ok());
    ASSERT_TRUE(file->Sync(IOOptions(), nullptr).ok());
    ASSERT_TRUE(file->Append(rest, IOOptions(), nullptr).ok());
    ASSERT_TRUE(file->Close(IOOptions(), nullptr).ok());
  }
  void SyncFolder(FileSystem* disk) {
    std::unique_ptr<rocksdb::FSDirectory> folder;
    ASSERT_TRUE(
        disk->NewDirectory(plan_.database, IOOptions(), &folder, nullptr).ok());
    ASSERT_TRUE(folder->Fsync(IOOptions(), nullptr).ok());
  }

  const bench::ScratchDirectory folder_{"torture-test"};
  std::shared_ptr<FileSystem> Disk() {
    env_ = NewDisk(plan_, journal_);
    return env_->GetFileSystem();
  }

  DiskPlan plan_;
  Journal* const journal_ = Journal::Create();
  std::unique_ptr<rocksdb::Env> env_;
};

TEST_F(TortureDiskTest, UnsyncedBytesAndNamesAreLost) {
  std::ofstream(Path("old")) << "old";
  const auto disk = Disk();
  Write(disk.get(), "1.sst", "a", "bcde");
  Write(disk.get(), "2.log", "a", "bcde");
  Write(disk.get(), "4.log", "synced", "");
  SyncFolder(disk.get());
  Write(disk.get(), "5.log", "before a rename", "");
  Write(disk.get(), "x", "renamed", "...");
  ASSERT_TRUE(
      disk->RenameFile(Path("x"), Path("CURRENT"), IOOptions(), nullptr).ok());
  Write(disk.get(), "6.log", "synced in a folder that is not", "");
  EXPECT_EQ(Content("1.sst"), "abcde");
  LosePower(plan_);
  const std::pair<const char*, const char*> left[] = {
      {"1.sst", "a"},         {"2.log", "a"}, {"4.log", "synced"},
      {"CURRENT", "renamed"}, {"6.log", "-"}, {"5.log", "before a rename"},
      {"old", "old"}};
  for (const auto& [name, content] : left) EXPECT_EQ(Content(name), content);
}

TEST_F(TortureDiskTest, OperationsFailAsPlanned) {
  plan_.fail_at = 2;
  plan_.failures = 1;
  const auto disk = Disk();
  std::unique_ptr<rocksdb::FSWritableFile> file;
  ASSERT_TRUE(
      disk->NewWritableFile(Path("f"), FileOptions(), &file, nullptr).ok());
  EXPECT_TRUE(file->Append("abcd", IOOptions(), nullptr).IsIOError());
  EXPECT_TRUE(journal_->write_failed);
  EXPECT_TRUE(file->Append("ef", IOOptions(), nullptr).ok());
  ASSERT_TRUE(file->Close(IOOptions(), nullptr).ok());
  // Half of what failed.
  EXPECT_EQ(Content("f"), "abef");
  EXPECT_EQ(journal_->totals.write_errors, 1u);
}

TEST_F(TortureDiskTest, ReadsGetTheFaultAndNothingElse) {
  std::ofstream(Path("t.sst")) << "abcdefgh";
  std::ofstream(Path("u.sst")) << "abcdefgh";
  plan_.fault = {"t.sst", "a block", 2, 1, 0};
  const auto read = [&](const char* name, uint64_t offset, size_t n) {
    std::unique_ptr<rocksdb::FSRandomAccessFile> file;
    char space[8];
    Slice result;
    if (!Disk()
             ->NewRandomAccessFile(Path(name), FileOptions(), &file, nullptr)
             .ok() ||
        !file->Read(offset, n, IOOptions(), &result, space, nullptr).ok()) {
      return std::string("error");
    }
    return result.ToString();
  };
  EXPECT_EQ(read("t.sst", 0, 8), "abbdefgh");
  EXPECT_EQ(read("t.sst", 2, 1), "b");
  EXPECT_EQ(read("t.sst", 3, 5), "defgh");
  EXPECT_EQ(read("u.sst", 0, 8), "abcdefgh");
  plan_.fault.bit = -1;
  plan_.fault.size = 3;
  EXPECT_EQ(read("t.sst", 0, 3), "error");
  EXPECT_EQ(read("t.sst", 4, 1), "error");
  EXPECT_EQ(read("t.sst", 0, 2), "ab");
  EXPECT_EQ(read("t.sst", 5, 3), "fgh");
}

// --- Planted errors ----------------------------------------------------------

// Leaves out one key of forty.
class LosingBuilder : public testing::DelegatingBuilder {
 public:
  using DelegatingBuilder::DelegatingBuilder;

  void AddKey(const Slice& key) override {
    if (!Loses(key)) DelegatingBuilder::AddKey(key);
  }
#if DELTABLOOM_ROCKSDB_HAS_ADD_KEY_AND_ALT
  void AddKeyAndAlt(const Slice& key, const Slice& alt) override {
    if (!Loses(key)) DelegatingBuilder::AddKeyAndAlt(key, alt);
  }
#endif

 private:
  static bool Loses(const Slice& key) {
    return std::hash<std::string>()(key.ToString()) % 40 == 0;
  }
};

// Never returns from a lookup.
class HangingPolicy
    : public testing::DelegatingPolicy<testing::DelegatingBuilder> {
 public:
  using DelegatingPolicy::DelegatingPolicy;

  rocksdb::FilterBitsReader* GetFilterBitsReader(const Slice&) const override {
    while (true) pause();
  }
};

template <typename Policy>
Sabotage With() {
  Sabotage sabotage;
  sabotage.policy = [](Sabotage::Policy policy) {
    return std::make_shared<Policy>(std::move(policy));
  };
  return sabotage;
}

std::string FailureOf(const Sabotage& sabotage, RunOptions options) {
  const bench::ScratchDirectory folder("torture-test");
  options.folder = folder.path();
  options.sabotage = sabotage;
  Journal* const journal = Journal::Create();
  const Failure failure = Run(options, journal);
  EXPECT_EQ(journal->totals.failures, 1u);
  return failure.what;
}

RunOptions Cycles() {
  RunOptions options;
  options.seed = test::SeedOr(3);
  return options;
}

TEST(SabotageTest, AFilterThatLosesKeysIsFound) {
  const std::string what =
      FailureOf(With<testing::DelegatingPolicy<LosingBuilder>>(), Cycles());
  // Names the key, whichever check finds it.
  test::ExpectHas(what, "'k");
}

TEST(SabotageTest, ADiskThatLosesWhatWasSyncedIsFound) {
  Sabotage sabotage;
  sabotage.forget_syncs = true;
  const std::string what = FailureOf(sabotage, Cycles());
  // The model finds a key or a transaction missing, or RocksDB a log that its
  // tables need.
  test::ExpectHas(what, "then power is lost");
}

TEST(SabotageTest, ACheckThatHangsIsFound) {
  RunOptions options = Cycles();
  // The working process is killed before that, unless it closes the database.
  options.timeout_seconds = 2;
  while (DrawPlan(options, 0).closes) ++options.seed;
  const std::string what = FailureOf(With<HangingPolicy>(), options);
  test::ExpectHas(what, " has not ended after 2 s; it was at: ");
}

}  // namespace
}  // namespace deltabloom::torture
