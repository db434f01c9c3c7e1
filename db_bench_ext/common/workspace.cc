#include "db_bench_ext/common/workspace.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <system_error>

#include "db_bench_ext/common/errors.h"

namespace deltabloom::bench {

namespace fs = std::filesystem;

namespace {

// True if it had to be made.
bool UseFolder(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status)) {
    if (!fs::is_directory(status)) {
      throw UsageError("--db: " + path.string() + " is not a folder");
    }
    const bool empty = fs::is_empty(path, error);
    if (error) {
      throw UsageError("--db: cannot read " + path.string() + ": " +
                       error.message());
    }
    if (!empty) {
      throw UsageError("--db: " + path.string() +
                       " is not empty; name a new or empty folder");
    }
    return false;
  }
  fs::create_directories(path, error);
  if (error) {
    throw UsageError("--db: cannot make " + path.string() + ": " +
                     error.message());
  }
  return true;
}

std::string Megabytes(uint64_t bytes) {
  return std::to_string((bytes + 999'999) / 1'000'000) + " MB";
}

}  // namespace

Workspace::Workspace(const std::string& dir, const std::string& name) {
  if (dir.empty()) {
    scratch_ = std::make_unique<ScratchDirectory>(name);
    path_ = scratch_->path();
    return;
  }
  path_ = dir;
  if (UseFolder(path_)) {
    added_.push_back(
        std::make_unique<Temporary>(dir, Temporary::Removal::kIfEmpty));
  }
}

Workspace::~Workspace() {
  while (!added_.empty()) added_.pop_back();
}

void Workspace::Keep() {
  for (const auto& added : added_) added->Keep();
}

bool Workspace::SupportsDirectIo() const {
  const fs::path probe = path_ / "direct-io-probe";
  const int fd = open(probe.c_str(), O_CREAT | O_RDWR | O_DIRECT, 0600);
  if (fd < 0) {
    unlink(probe.c_str());
    return false;
  }
  void* block = nullptr;
  bool works = false;
  constexpr size_t kBytes = 4096;
  if (posix_memalign(&block, kBytes, kBytes) == 0) {
    std::memset(block, 0, kBytes);
    works = pwrite(fd, block, kBytes, 0) == static_cast<ssize_t>(kBytes) &&
            pread(fd, block, kBytes, 0) == static_cast<ssize_t>(kBytes);
    std::free(block);
  }
  close(fd);
  unlink(probe.c_str());
  return works;
}

void Workspace::RequireFreeBytes(uint64_t bytes) const {
  std::error_code error;
  const fs::space_info space = fs::space(path_, error);
  if (error || space.available >= bytes) return;
  throw std::runtime_error(
      path_.string() + ": " + Megabytes(space.available) +
      " free, the databases need about " + Megabytes(bytes) +
      "; free some, lower --keys, or name another place with --db or TMPDIR");
}

fs::path Workspace::Add(const std::string& name) {
  const fs::path path = path_ / name;
  if (scratch_ == nullptr) {
    added_.push_back(std::make_unique<Temporary>(path.string()));
  }
  fs::create_directory(path);
  return path;
}

void Workspace::Remove(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) {
    throw std::runtime_error("cannot remove " + path.string() + ": " +
                             error.message());
  }
}

}  // namespace deltabloom::bench
