#include "table/sst/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace deltabloom::internal {
namespace {

class FileSource : public SstSource {
 public:
  FileSource(std::string path, int descriptor)
      : path_(std::move(path)), descriptor_(descriptor) {}
  ~FileSource() override { ::close(descriptor_); }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  const std::string& Name() const override { return path_; }
  uint64_t Size() const override { return size_; }
  void set_size(uint64_t size) { size_ = size; }

  std::string Read(uint64_t offset, size_t n, char* dst) const override {
    while (n > 0) {
      const ssize_t got =
          ::pread(descriptor_, dst, n, static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) {
        return path_ + ": offset " + std::to_string(offset) + ": cannot read " +
               std::to_string(n) + " bytes: " +
               (got < 0 ? std::strerror(errno) : "the file has become shorter");
      }
      dst += got;
      offset += static_cast<uint64_t>(got);
      n -= static_cast<size_t>(got);
    }
    return {};
  }

 private:
  const std::string path_;
  const int descriptor_;
  uint64_t size_ = 0;
};

const char* KindName(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return "a directory";
    case S_IFIFO:
      return "a FIFO";
    case S_IFSOCK:
      return "a socket";
    case S_IFCHR:
      return "a character device";
    case S_IFBLK:
      return "a block device";
    default:
      return "something else";
  }
}

}  // namespace

std::unique_ptr<SstSource> OpenSstFile(const std::string& path,
                                       std::string* error) {
  const auto other_kind = [&](const struct stat& status) {
    *error = path + ": expected a file, found " + KindName(status.st_mode);
    return nullptr;
  };
  const auto failed = [&] {
    *error = path + ": cannot be opened: " + std::strerror(errno);
    return nullptr;
  };
  // Looked at first: opening a device can do things, and a FIFO would block
  // until someone writes to it. Nor does it block if it comes in between.
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) return failed();
  if (!S_ISREG(status.st_mode)) return other_kind(status);
  const int descriptor =
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return failed();
  auto source = std::make_unique<FileSource>(path, descriptor);
  if (::fstat(descriptor, &status) != 0) return failed();
  if (!S_ISREG(status.st_mode)) return other_kind(status);
  source->set_size(static_cast<uint64_t>(status.st_size));
  return source;
}

}  // namespace deltabloom::internal
