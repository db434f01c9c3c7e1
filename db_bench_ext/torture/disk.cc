#include "db_bench_ext/torture/disk.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <utility>

namespace deltabloom::torture {

using rocksdb::DataVerificationInfo;
using rocksdb::FileOptions;
using rocksdb::FSDirectory;
using rocksdb::FSDirectoryWrapper;
using rocksdb::FSWritableFile;
using rocksdb::FSWritableFileOwnerWrapper;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

namespace {

// Nothing is synced in truth: the process dies, not the machine.
class WatchedFile : public FSWritableFileOwnerWrapper {
 public:
  WatchedFile(std::unique_ptr<FSWritableFile>&& file, std::string path,
              uint64_t size, Disk* disk)
      : FSWritableFileOwnerWrapper(std::move(file)),
        path_(std::move(path)),
        size_(size),
        disk_(disk) {}

  using FSWritableFileOwnerWrapper::PositionedAppend;

  IOStatus Append(const Slice& data, const IOOptions& options,
                  IODebugContext* context) override {
    const IOStatus turn = disk_->Turn();
    // A failed write may have written some of it.
    const size_t n = turn.ok() ? data.size() : data.size() / 2;
    const IOStatus status =
        target()->Append(Slice(data.data(), n), options, context);
    if (status.ok()) size_ += n;
    return turn.ok() ? status : turn;
  }
  IOStatus Append(const Slice& data, const IOOptions& options,
                  const DataVerificationInfo&,
                  IODebugContext* context) override {
    return Append(data, options, context);
  }
  IOStatus Truncate(uint64_t size, const IOOptions& options,
                    IODebugContext* context) override {
    IOStatus status = disk_->Turn();
    if (status.ok()) status = target()->Truncate(size, options, context);
    if (status.ok()) size_ = size;
    return status;
  }
  IOStatus Sync(const IOOptions&, IODebugContext*) override {
    const uint64_t size = size_;
    IOStatus status = disk_->Turn();
    if (status.ok()) disk_->NoteSync(path_, size);
    return status;
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* context) override {
    return Sync(options, context);
  }
  IOStatus RangeSync(uint64_t, uint64_t, const IOOptions&,
                     IODebugContext*) override {
    return IOStatus::OK();
  }

 private:
  const std::string path_;
  std::atomic<uint64_t> size_;
  Disk* const disk_;
};

class WatchedFolder : public FSDirectoryWrapper {
 public:
  WatchedFolder(std::unique_ptr<FSDirectory>&& folder, std::string path,
                Disk* disk)
      : FSDirectoryWrapper(std::move(folder)),
        path_(std::move(path)),
        disk_(disk) {}

  IOStatus Fsync(const IOOptions&, IODebugContext*) override {
    IOStatus status = disk_->Turn();
    if (status.ok()) disk_->NoteFolderSync(path_);
    return status;
  }
  IOStatus FsyncWithDirOptions(const IOOptions& options,
                               IODebugContext* context,
                               const rocksdb::DirFsyncOptions&) override {
    return Fsync(options, context);
  }

 private:
  const std::string path_;
  Disk* const disk_;
};

}  // namespace

Disk::Disk(const DiskPlan& plan, Journal* journal)
    : FileSystemWrapper(rocksdb::FileSystem::Default()),
      plan_(plan),
      journal_(journal) {
  const std::string path = plan_.notes + "/disk";
  notes_ = open(path.c_str(),
                O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
  if (notes_ < 0) throw std::runtime_error(path + ": " + std::strerror(errno));
}

Disk::~Disk() { close(notes_); }

bool Disk::Watches(const std::string& path) const {
  return std::filesystem::path(path).parent_path() == plan_.database;
}

void Disk::Note(const std::string& line) {
  const std::string text = line + "\n";
  if (write(notes_, text.data(), text.size()) !=
      static_cast<ssize_t>(text.size())) {
    journal_->Fail("no space for the notes on what was synced");
  }
}

IOStatus Disk::Turn() {
  const uint64_t operation = ++operations_;
  if (plan_.stop_at != 0 && operation >= plan_.stop_at) {
    journal_->wants_to_die = true;
    while (true) pause();
  }
  if (plan_.fail_at != 0 && operation >= plan_.fail_at &&
      operation < plan_.fail_at + plan_.failures) {
    journal_->write_failed = true;
    ++journal_->totals.write_errors;
    return IOStatus::IOError("a write fails", "by the torture");
  }
  return IOStatus::OK();
}

void Disk::NoteSync(const std::string& path, uint64_t size) {
  std::lock_guard<std::mutex> lock(mutex_);
  Note("sync " + std::to_string(size) + " " + path);
}

void Disk::NoteFolderSync(const std::string& path) {
  std::lock_guard<std::mutex> lock(mutex_);
  Note("folder " + path);
}

IOStatus Disk::NewWritableFile(const std::string& path,
                               const FileOptions& options,
                               std::unique_ptr<FSWritableFile>* file,
                               IODebugContext* context) {
  if (!Watches(path)) {
    return target()->NewWritableFile(path, options, file, context);
  }
  IOStatus status = Turn();
  if (!status.ok()) return status;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    Note("new " + path);
  }
  status = target()->NewWritableFile(path, options, file, context);
  if (status.ok()) {
    *file = std::make_unique<WatchedFile>(std::move(*file), path, 0, this);
  }
  return status;
}

IOStatus Disk::ReopenWritableFile(const std::string& path,
                                  const FileOptions& options,
                                  std::unique_ptr<FSWritableFile>* file,
                                  IODebugContext* context) {
  uint64_t size = 0;
  IOStatus status = target()->ReopenWritableFile(path, options, file, context);
  if (!status.ok() || !Watches(path)) return status;
  status = target()->GetFileSize(path, options.io_options, &size, context);
  if (status.ok()) {
    *file = std::make_unique<WatchedFile>(std::move(*file), path, size, this);
  }
  return status;
}

IOStatus Disk::NewDirectory(const std::string& path, const IOOptions& options,
                            std::unique_ptr<FSDirectory>* folder,
                            IODebugContext* context) {
  const IOStatus status =
      target()->NewDirectory(path, options, folder, context);
  if (status.ok() && Watches(path + "/x")) {
    *folder = std::make_unique<WatchedFolder>(std::move(*folder), path, this);
  }
  return status;
}

IOStatus Disk::RenameFile(const std::string& from, const std::string& to,
                          const IOOptions& options, IODebugContext* context) {
  if (!Watches(to)) return target()->RenameFile(from, to, options, context);
  const IOStatus status = Turn();
  if (!status.ok()) return status;
  std::lock_guard<std::mutex> lock(mutex_);
  // What `to` was, in case the rename is lost.
  const std::string undo =
      plan_.notes + "/undo" + std::to_string(++undo_files_);
  unlink(undo.c_str());
  const bool existed = link(to.c_str(), undo.c_str()) == 0;
  Note("rename " + (existed ? undo : std::string("-")) + " " + from + " " + to);
  return target()->RenameFile(from, to, options, context);
}

IOStatus Disk::LinkFile(const std::string& from, const std::string& to,
                        const IOOptions& options, IODebugContext* context) {
  if (!Watches(to)) return target()->LinkFile(from, to, options, context);
  const IOStatus status = Turn();
  if (!status.ok()) return status;
  std::lock_guard<std::mutex> lock(mutex_);
  Note("new " + to);
  return target()->LinkFile(from, to, options, context);
}

IOStatus Disk::DeleteFile(const std::string& path, const IOOptions& options,
                          IODebugContext* context) {
  if (Watches(path)) {
    const IOStatus status = Turn();
    if (!status.ok()) return status;
    std::lock_guard<std::mutex> lock(mutex_);
    Note("delete " + path);
    return target()->DeleteFile(path, options, context);
  }
  return target()->DeleteFile(path, options, context);
}

}  // namespace deltabloom::torture
