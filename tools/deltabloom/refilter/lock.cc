#include "tools/deltabloom/refilter/lock.h"

#include <rocksdb/env.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

namespace deltabloom::tools {

std::shared_ptr<void> LockDatabase(const std::string& path,
                                   std::string* error) {
  const std::string name = path + "/LOCK";
  struct stat status_before;
  const bool is_new = ::lstat(name.c_str(), &status_before) != 0;
  rocksdb::FileLock* lock = nullptr;
  const rocksdb::Status status = rocksdb::Env::Default()->LockFile(name, &lock);
  if (!status.ok()) {
    *error = path + ": is open, or cannot be locked: " + status.ToString();
    return nullptr;
  }
  const std::shared_ptr<void> held = {
      lock, [](void* of) {
        rocksdb::Env::Default()->UnlockFile(
            static_cast<rocksdb::FileLock*>(of));
      }};
  // If root made the lock, the owner of the database must be able to open it.
  // Links are not followed: they could lead anywhere.
  struct stat owner;
  if (is_new && ::geteuid() == 0 && ::stat(path.c_str(), &owner) == 0 &&
      ::lchown(name.c_str(), owner.st_uid, owner.st_gid) != 0) {
    *error = name +
             ": cannot get the owner of the directory: " + std::strerror(errno);
    return nullptr;
  }
  return held;
}

}  // namespace deltabloom::tools
