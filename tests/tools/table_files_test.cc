// Which files a command line names.
#include "tools/deltabloom/table_files.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace deltabloom::tools {
namespace {

namespace fs = std::filesystem;

class TableFilesTest : public ::testing::Test {
 protected:
  TableFilesTest() {
    std::string name = ::testing::TempDir() + "table_files_testXXXXXX";
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    directory_ = name;
  }
  ~TableFilesTest() override {
    std::error_code ignored;
    fs::remove_all(directory_, ignored);
  }

  std::string Make(const std::string& name) const {
    std::ofstream(directory_ / name) << "x";
    return directory_ / name;
  }

  fs::path directory_;
};

TEST_F(TableFilesTest, FilesAsTheyAreNamed) {
  const auto files = TableFiles({"b", "/no/such/file", "a.sst", "b"});
  ASSERT_EQ(files.size(), 4u);
  const char* expected[] = {"b", "/no/such/file", "a.sst", "b"};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(files[i].path, expected[i]);
    EXPECT_EQ(files[i].error, "");
    EXPECT_FALSE(IsGone(files[i]));  // named, so missing is an error
  }
}

TEST_F(TableFilesTest, TablesOfADirectoryInOrder) {
  for (const char* name : {"000010.sst", "000009.ldb", "LOG", "MANIFEST-000001",
                           "x.sst.bak", "sst", "CURRENT", "000011.SST"}) {
    Make(name);
  }
  fs::create_directory(directory_ / "000001.sst");
  fs::create_symlink("nowhere", directory_ / "000012.sst");
  const auto files = TableFiles({"first", directory_, "last"});
  ASSERT_EQ(files.size(), 5u);
  EXPECT_EQ(files[0].path, "first");
  EXPECT_EQ(files[1].path, directory_ / "000009.ldb");
  EXPECT_EQ(files[2].path, directory_ / "000010.sst");
  EXPECT_EQ(files[3].path, directory_ / "000012.sst");
  EXPECT_EQ(files[4].path, "last");
  // A link that leads nowhere is there, and an error when it is read.
  EXPECT_FALSE(IsGone(files[3]));
}

TEST_F(TableFilesTest, GoneMeanwhile) {
  const std::string path = Make("000010.sst");
  const auto files = TableFiles({directory_, path});
  ASSERT_EQ(files.size(), 2u);
  EXPECT_FALSE(IsGone(files[0]));
  fs::remove(path);
  EXPECT_TRUE(IsGone(files[0]));
  EXPECT_FALSE(IsGone(files[1]));
}

TEST_F(TableFilesTest, DirectoriesWithoutTables) {
  Make("LOG");
  const auto files = TableFiles({directory_, "last"});
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].path, directory_);
  EXPECT_EQ(files[0].error,
            directory_.string() +
                ": expected table files (*.sst, *.ldb), found none");
}

}  // namespace
}  // namespace deltabloom::tools
