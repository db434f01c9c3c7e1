// Folders and files of tests, and what texts contain.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace deltabloom::test {

// A folder that is removed with its owner; in memory where possible, because
// RocksDB syncs every file.
class TempDir {
 public:
  TempDir() {
    std::filesystem::path parent = "/dev/shm";
    if (std::getenv("TMPDIR") != nullptr || access(parent.c_str(), W_OK) != 0) {
      parent = std::filesystem::temp_directory_path();
    }
    path_ = parent / "deltabloom-XXXXXX";
    if (mkdtemp(path_.data()) == nullptr) std::abort();
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  std::string Path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

inline void ExpectHas(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << "\nin: " << text;
}

}  // namespace deltabloom::test
