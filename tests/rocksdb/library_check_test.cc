// Which RocksDB the policy accepts, and how it refuses.
#include "engines/rocksdb/policy/library_check.h"

#include <gtest/gtest.h>

#include <string>

#include "engines/rocksdb/policy/private_abi.h"
#include "util/version.h"

namespace deltabloom::internal {
namespace {

std::string Version(int major, int minor, int patch) {
  return std::to_string(major) + "." + std::to_string(minor) + "." +
         std::to_string(patch);
}

TEST(LibraryCheckTest, AcceptsItsOwnMinorVersion) {
  EXPECT_EQ(VersionProblem(HeadersVersion()), "");
  if (ROCKSDB_MAJOR != 9 || ROCKSDB_MINOR != 6) {
    EXPECT_EQ(VersionProblem(
                  Version(ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH + 1)),
              "");
  }
}

TEST(LibraryCheckTest, RefusesEveryOther) {
  for (const std::string& loaded :
       {Version(6, 29, 5), Version(7, 0, 2),
        Version(ROCKSDB_MAJOR, ROCKSDB_MINOR + 1, 0),
        ROCKSDB_MINOR > 0
            ? Version(ROCKSDB_MAJOR, ROCKSDB_MINOR - 1, ROCKSDB_PATCH)
            : Version(ROCKSDB_MAJOR - 1, 10, 2),
        Version(ROCKSDB_MAJOR + 1, ROCKSDB_MINOR, ROCKSDB_PATCH),
        Version(ROCKSDB_MAJOR + 1, 0, 0), std::string("12.0.0")}) {
    const std::string problem = VersionProblem(loaded);
    EXPECT_NE(problem.find("built for RocksDB " + HeadersVersion()),
              std::string::npos)
        << problem;
    EXPECT_NE(
        problem.find("loaded is " + loaded + ": build Deltabloom against"),
        std::string::npos)
        << problem;
    EXPECT_EQ(problem.find('\n'), std::string::npos);
  }
}

TEST(LibraryCheckTest, RefusesWhatIsNoVersion) {
  for (const char* loaded : {"", "7", "7.8", "seven", "7.8.", "7.8.x", "-7.8.3",
                             "7.8.3.1", "7.8.99999999999"}) {
    EXPECT_NE(VersionProblem(loaded), "") << loaded;
  }
}

TEST(LibraryCheckTest, LoadedLibraryFits) {
  EXPECT_EQ(SelfCheckProblem(), "");
  EXPECT_EQ(LibraryProblem(), "");
}

TEST(LibraryCheckTest, VersionIsThatOfTheProject) {
  EXPECT_STREQ(kVersion, DELTABLOOM_PROJECT_VERSION);
}

}  // namespace
}  // namespace deltabloom::internal
