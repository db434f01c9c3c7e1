// What is left of files after a loss of power, and how reads fail.
#include "db_bench_ext/torture/disk.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "db_bench_ext/common/files.h"
#include "db_bench_ext/torture/faults.h"

namespace deltabloom::torture {
namespace {

using rocksdb::FileOptions;
using rocksdb::IOOptions;

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
  // "-" if it is not there.
  std::string Content(const std::string& name) const {
    std::ifstream file(Path(name));
    if (!file) return "-";
    std::stringstream content;
    content << file.rdbuf();
    return content.str();
  }
  // A file of which `synced` is synced and `rest` is not.
  void Write(Disk* disk, const std::string& name, const std::string& synced,
             const std::string& rest) {
    std::unique_ptr<rocksdb::FSWritableFile> file;
    ASSERT_TRUE(
        disk->NewWritableFile(Path(name), FileOptions(), &file, nullptr).ok());
    ASSERT_TRUE(file->Append(synced, IOOptions(), nullptr).ok());
    ASSERT_TRUE(file->Sync(IOOptions(), nullptr).ok());
    ASSERT_TRUE(file->Append(rest, IOOptions(), nullptr).ok());
    ASSERT_TRUE(file->Close(IOOptions(), nullptr).ok());
  }
  void SyncFolder(Disk* disk) {
    std::unique_ptr<rocksdb::FSDirectory> folder;
    ASSERT_TRUE(
        disk->NewDirectory(plan_.database, IOOptions(), &folder, nullptr).ok());
    ASSERT_TRUE(folder->Fsync(IOOptions(), nullptr).ok());
  }

  const bench::ScratchDirectory folder_{"torture-test"};
  DiskPlan plan_;
  Journal* const journal_ = Journal::Create();
};

TEST_F(TortureDiskTest, WhatWasNotSyncedIsLost) {
  std::ofstream(Path("old")) << "old";
  {
    Disk disk(plan_, journal_);
    Write(&disk, "1.log", "synced", " and not");
    Write(&disk, "2.log", "synced", "");
    SyncFolder(&disk);
    Write(&disk, "3.log", "synced in a folder that is not", "");
    EXPECT_EQ(Content("1.log"), "synced and not");
  }
  EXPECT_EQ(LosePower(plan_, PowerLoss()), 2u);
  EXPECT_EQ(Content("1.log"), "synced");
  EXPECT_EQ(Content("2.log"), "synced");
  EXPECT_EQ(Content("3.log"), "-");
  EXPECT_EQ(Content("old"), "old");
}

TEST_F(TortureDiskTest, OnlyTheFirstLogMayKeepATail) {
  {
    Disk disk(plan_, journal_);
    Write(&disk, "1.sst", "a", "bcde");
    Write(&disk, "2.log", "a", "bcde");
    Write(&disk, "3.log", "a", "bcde");
    SyncFolder(&disk);
  }
  PowerLoss loss;
  loss.log_tail_kept = 0.5;
  EXPECT_EQ(LosePower(plan_, loss), 3u);
  EXPECT_EQ(Content("1.sst"), "a");
  EXPECT_EQ(Content("2.log"), "abc");
  EXPECT_EQ(Content("3.log"), "a");
}

TEST_F(TortureDiskTest, ARenameIsLostUntilTheFolderIsSynced) {
  std::ofstream(Path("CURRENT")) << "0";
  {
    Disk disk(plan_, journal_);
    for (const std::string name : {"1", "2", "3"}) {
      Write(&disk, name, name, "");
      ASSERT_TRUE(
          disk.RenameFile(Path(name), Path("CURRENT"), IOOptions(), nullptr)
              .ok());
      if (name == "1") SyncFolder(&disk);
    }
    EXPECT_EQ(Content("CURRENT"), "3");
  }
  LosePower(plan_, PowerLoss());
  EXPECT_EQ(Content("CURRENT"), "1");
}

TEST_F(TortureDiskTest, OperationsFailWhenTheyShall) {
  plan_.fail_at = 2;
  plan_.failures = 1;
  Disk disk(plan_, journal_);
  std::unique_ptr<rocksdb::FSWritableFile> file;
  ASSERT_TRUE(
      disk.NewWritableFile(Path("f"), FileOptions(), &file, nullptr).ok());
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
  Fault fault;
  fault.file = "t.sst";
  fault.offset = 2;
  fault.bit = 0;
  const auto read = [&](const char* name, uint64_t offset, size_t n) {
    std::unique_ptr<rocksdb::FSRandomAccessFile> file;
    char space[8];
    rocksdb::Slice result;
    if (!NewFaultyFileSystem(fault)
             ->NewRandomAccessFile(Path(name), FileOptions(), &file, nullptr)
             .ok() ||
        !file->Read(offset, n, IOOptions(), &result, space, nullptr).ok()) {
      return std::string("error");
    }
    return result.ToString();
  };
  EXPECT_EQ(read("t.sst", 0, 8), "abbdefgh");
  EXPECT_EQ(read("t.sst", 2, 1), "b");
  EXPECT_EQ(read("t.sst", 0, 2), "ab");
  EXPECT_EQ(read("t.sst", 3, 5), "defgh");
  EXPECT_EQ(read("u.sst", 0, 8), "abcdefgh");
  fault.kind = Fault::Kind::kReadError;
  fault.size = 3;
  EXPECT_EQ(read("t.sst", 0, 3), "error");
  EXPECT_EQ(read("t.sst", 4, 1), "error");
  EXPECT_EQ(read("t.sst", 0, 2), "ab");
  EXPECT_EQ(read("t.sst", 5, 3), "fgh");
}

}  // namespace
}  // namespace deltabloom::torture
