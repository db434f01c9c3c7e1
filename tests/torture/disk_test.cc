// What is left of files after a loss of power, and how reads fail.
#include "tests/torture/disk.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "db_bench_ext/common/files.h"

namespace deltabloom::torture {
namespace {

using rocksdb::FileOptions;
using rocksdb::FileSystem;
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
  // "-" if there is no such file.
  std::string Content(const std::string& name) const {
    std::ifstream file(Path(name));
    if (!file) return "-";
    std::stringstream content;
    content << file.rdbuf();
    return content.str();
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
  DiskPlan plan_;
  Journal* const journal_ = Journal::Create();
};

TEST_F(TortureDiskTest, UnsyncedBytesNamesAndRenamesAreLost) {
  std::ofstream(Path("old")) << "old";
  std::ofstream(Path("CURRENT")) << "0";
  const auto disk = NewDisk(plan_, journal_);
  const auto rename = [&](const std::string& name) {
    Write(disk.get(), name, name, "");
    return disk->RenameFile(Path(name), Path("CURRENT"), IOOptions(), nullptr);
  };
  Write(disk.get(), "1.sst", "a", "bcde");
  Write(disk.get(), "2.log", "a", "bcde");
  Write(disk.get(), "3.log", "a", "bcde");
  Write(disk.get(), "4.log", "synced", "");
  ASSERT_TRUE(rename("x").ok());
  SyncFolder(disk.get());
  Write(disk.get(), "5.log", "synced in a folder that is not", "");
  ASSERT_TRUE(rename("y").ok());
  ASSERT_TRUE(rename("z").ok());
  EXPECT_EQ(Content("1.sst"), "abcde");
  EXPECT_EQ(Content("CURRENT"), "z");
  PowerLoss loss;
  loss.log_tail_kept = 0.5;
  // Three files are cut, one and two renames are lost.
  EXPECT_EQ(LosePower(plan_, loss), 7u);
  EXPECT_EQ(Content("1.sst"), "a");
  // Only the first log may keep a tail.
  EXPECT_EQ(Content("2.log"), "abc");
  EXPECT_EQ(Content("3.log"), "a");
  EXPECT_EQ(Content("4.log"), "synced");
  EXPECT_EQ(Content("5.log"), "-");
  EXPECT_EQ(Content("old"), "old");
  EXPECT_EQ(Content("CURRENT"), "x");
}

TEST_F(TortureDiskTest, OperationsFailAsPlanned) {
  plan_.fail_at = 2;
  plan_.failures = 1;
  const auto disk = NewDisk(plan_, journal_);
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
  Fault fault;
  fault.file = "t.sst";
  fault.offset = 2;
  fault.bit = 0;
  const auto read = [&](const char* name, uint64_t offset, size_t n) {
    std::unique_ptr<rocksdb::FSRandomAccessFile> file;
    char space[8];
    rocksdb::Slice result;
    if (!NewFaultyEnv(fault)
             ->GetFileSystem()
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
  fault.bit = -1;
  fault.size = 3;
  EXPECT_EQ(read("t.sst", 0, 3), "error");
  EXPECT_EQ(read("t.sst", 4, 1), "error");
  EXPECT_EQ(read("t.sst", 0, 2), "ab");
  EXPECT_EQ(read("t.sst", 5, 3), "fgh");
}

}  // namespace
}  // namespace deltabloom::torture
