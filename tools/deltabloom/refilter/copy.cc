#include "tools/deltabloom/refilter/copy.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/deltabloom/refilter/attributes.h"
#include "tools/deltabloom/tables/read_table.h"
#include "tools/sst/sst.h"

namespace deltabloom::tools {
namespace {

bool WriteAt(int fd, std::string_view bytes, uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t n =
        ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
    offset += static_cast<uint64_t>(n);
  }
  return true;
}

}  // namespace

void ExpectWritten(bool done, const std::string& path, const std::string& what,
                   std::atomic<bool>* stop) {
  if (done) return;
  const int error = errno;
  *stop = *stop || error == ENOSPC || error == EDQUOT || error == EROFS;
  Check(path + ": " + what + ": " + std::strerror(error));
}

Descriptor::~Descriptor() {
  if (fd >= 0) ::close(fd);
}

Copy::Copy(const internal::SstSource& source, std::string path,
           std::atomic<bool>* stop)
    : path_(std::move(path)),
      stop_(stop),
      file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                   0600)) {
  const Descriptor old(::open(source.Name().c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status;
  struct stat now;
  Expect(old.fd >= 0 && file_.fd >= 0 && ::fstat(old.fd, &status) == 0 &&
         ::fstat(file_.fd, &now) == 0);
  CopyBytes(source, old.fd);
  if (now.st_uid != status.st_uid || now.st_gid != status.st_gid) {
    ExpectWritten(::fchown(file_.fd, status.st_uid, status.st_gid) == 0, path_,
                  "cannot get the owner and group of the table", stop_);
  }
  Expect(::fchmod(file_.fd, status.st_mode & 07777) == 0);
  std::string attribute;
  const bool copied_all = CopyAttributes(old.fd, file_.fd, &attribute);
  ExpectWritten(
      copied_all, path_,
      "cannot get the extended attribute " + attribute + " of the table",
      stop_);
}

void Copy::CopyBytes(const internal::SstSource& source, int from) {
  if (::ioctl(file_.fd, FICLONE, from) == 0) return;
  // Makes the copy cheaper, where the file system can do it.
  ::fallocate(file_.fd, 0, 0, static_cast<off_t>(source.Size()));
  uint64_t copied = 0;
  ssize_t n;
  do {
    n = ::copy_file_range(from, nullptr, file_.fd, nullptr, size_t{1} << 30, 0);
    copied += static_cast<uint64_t>(std::max<ssize_t>(n, 0));
  } while (n > 0);
  if (copied == source.Size()) return;
  ForEachChunk(source, {0, source.Size()},
               [&](uint64_t at, const std::string* bytes) {
                 Expect(WriteAt(file_.fd, *bytes, at));
               });
}

void Copy::Write(const std::vector<internal::SstPatch>& patches) {
  for (const internal::SstPatch& patch : patches) {
    Expect(WriteAt(file_.fd, patch.bytes, patch.offset));
  }
  Expect(::fsync(file_.fd) == 0);
}

void Copy::Expect(bool done) const {
  ExpectWritten(done, path_, "cannot be written", stop_);
}

bool SyncDirectory(const std::string& directory) {
  const Descriptor opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY));
  return opened.fd >= 0 && ::fsync(opened.fd) == 0;
}

}  // namespace deltabloom::tools
