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
  FileSource(std::string path, int descriptor, uint64_t size)
      : path_(std::move(path)), descriptor_(descriptor), size_(size) {}
  ~FileSource() override { ::close(descriptor_); }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  const std::string& Name() const override { return path_; }
  uint64_t Size() const override { return size_; }

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
  const uint64_t size_;
};

}  // namespace

std::unique_ptr<SstSource> OpenSstFile(const std::string& path,
                                       std::string* error) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status = {};
  if (descriptor < 0 || ::fstat(descriptor, &status) != 0) {
    *error = path + ": cannot be opened: " + std::strerror(errno);
    if (descriptor >= 0) ::close(descriptor);
    return nullptr;
  }
  if (!S_ISREG(status.st_mode)) {
    *error = path + ": expected a file, found " +
             (S_ISDIR(status.st_mode) ? "a directory" : "something else");
    ::close(descriptor);
    return nullptr;
  }
  return std::make_unique<FileSource>(path, descriptor,
                                      static_cast<uint64_t>(status.st_size));
}

}  // namespace deltabloom::internal
