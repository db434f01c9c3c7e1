// Files as the walk reads them: what is no file, what is missing, what
// becomes shorter meanwhile.
#include "table/sst/source.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

namespace deltabloom {
namespace {

using internal::OpenSstFile;

class SourceTest : public testing::Test {
 protected:
  SourceTest() : folder_(testing::TempDir() + "source_test_XXXXXX") {
    if (mkdtemp(folder_.data()) == nullptr) std::abort();
  }
  ~SourceTest() override {
    for (const char* name : {"file", "fifo", "socket", "link"}) {
      ::unlink(Path(name).c_str());
    }
    ::rmdir(folder_.c_str());
  }

  std::string Path(const char* name) const { return folder_ + "/" + name; }

  // Ten thousand bytes, each its offset modulo 251.
  std::string WriteFile() const {
    std::string bytes(10000, '\0');
    for (size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<char>(i % 251);
    }
    std::ofstream(Path("file"), std::ios::binary) << bytes;
    return bytes;
  }

  // The error of opening, which must fail.
  static std::string ErrorOf(const std::string& path) {
    std::string error;
    EXPECT_EQ(OpenSstFile(path, &error), nullptr);
    return error;
  }

  std::string folder_;
};

TEST_F(SourceTest, ReadsAnyPart) {
  const std::string bytes = WriteFile();
  std::string error;
  const auto source = OpenSstFile(Path("file"), &error);
  ASSERT_NE(source, nullptr) << error;
  EXPECT_EQ(source->Size(), 10000u);
  EXPECT_EQ(source->Name(), Path("file"));
  for (const size_t offset : {0u, 1u, 4096u, 9999u}) {
    for (const size_t n : {0u, 1u, 17u, 10000u}) {
      if (offset + n > bytes.size()) continue;
      std::string read(n, 'x');
      EXPECT_EQ(source->Read(offset, n, read.data()), "");
      EXPECT_EQ(read, bytes.substr(offset, n));
    }
  }
}

TEST_F(SourceTest, SaysThatAFileBecameShorter) {
  WriteFile();
  std::string error;
  const auto source = OpenSstFile(Path("file"), &error);
  ASSERT_NE(source, nullptr) << error;
  ASSERT_EQ(::truncate(Path("file").c_str(), 100), 0);
  std::string read(200, 'x');
  // What is left comes in the first read; the error names the rest.
  EXPECT_EQ(source->Read(50, 200, read.data()),
            Path("file") +
                ": offset 100: cannot read 150 bytes: the file has become "
                "shorter");
  EXPECT_EQ(source->Read(500, 10, read.data()),
            Path("file") +
                ": offset 500: cannot read 10 bytes: the file has become "
                "shorter");
}

// An offset that the system refuses.
TEST_F(SourceTest, SaysWhatTheSystemSays) {
  WriteFile();
  std::string error;
  const auto source = OpenSstFile(Path("file"), &error);
  ASSERT_NE(source, nullptr) << error;
  char byte;
  EXPECT_EQ(source->Read(UINT64_MAX, 1, &byte),
            Path("file") +
                ": offset 18446744073709551615: cannot read 1 bytes: " +
                std::strerror(EINVAL));
}

TEST_F(SourceTest, FollowsLinks) {
  WriteFile();
  ASSERT_EQ(::symlink(Path("file").c_str(), Path("link").c_str()), 0);
  std::string error;
  const auto source = OpenSstFile(Path("link"), &error);
  ASSERT_NE(source, nullptr) << error;
  EXPECT_EQ(source->Size(), 10000u);
}

TEST_F(SourceTest, NamesWhatIsNoFile) {
  EXPECT_EQ(ErrorOf(folder_), folder_ + ": expected a file, found a directory");
  EXPECT_EQ(ErrorOf("/dev/null"),
            "/dev/null: expected a file, found a character device");
  ASSERT_EQ(::mkfifo(Path("fifo").c_str(), 0600), 0);
  EXPECT_EQ(ErrorOf(Path("fifo")),
            Path("fifo") + ": expected a file, found a FIFO");
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = Path("socket");
  ASSERT_LT(path.size(), sizeof(address.sun_path));
  std::memcpy(address.sun_path, path.c_str(), path.size());
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address),
                   sizeof(address)),
            0);
  EXPECT_EQ(ErrorOf(path), path + ": expected a file, found a socket");
  ::close(socket);
}

TEST_F(SourceTest, NamesWhatCannotBeOpened) {
  EXPECT_EQ(ErrorOf(Path("absent")),
            Path("absent") + ": cannot be opened: " + std::strerror(ENOENT));
  WriteFile();
  ASSERT_EQ(::chmod(Path("file").c_str(), 0), 0);
  if (::geteuid() == 0) GTEST_SKIP() << "root may open every file";
  EXPECT_EQ(ErrorOf(Path("file")),
            Path("file") + ": cannot be opened: " + std::strerror(EACCES));
}

}  // namespace
}  // namespace deltabloom
