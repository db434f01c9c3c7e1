#include "tests/torture/disk.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

namespace deltabloom::torture {

namespace fs = std::filesystem;

using rocksdb::FileOptions;
using rocksdb::FSDirectory;
using rocksdb::FSRandomAccessFile;
using rocksdb::FSWritableFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

namespace {

// The turns of operations that change files, and the notes on them.
class Operations {
 public:
  Operations(const DiskPlan& plan, Journal* journal)
      : plan_(plan), journal_(journal) {
    const std::string path = plan_.notes + "/disk";
    notes_ = open(path.c_str(),
                  O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
    if (notes_ < 0)
      throw std::runtime_error(path + ": " + std::strerror(errno));
  }
  ~Operations() { close(notes_); }
  Operations(const Operations&) = delete;
  Operations& operator=(const Operations&) = delete;

  bool Watches(const std::string& path) const {
    return fs::path(path).parent_path() == plan_.database;
  }

  // Before each operation: may never return, or fail.
  IOStatus Turn() {
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

  // A change of a file: its turn; then note and operation, in one step for
  // other threads.
  IOStatus Change(const std::string& path, const std::string& note,
                  const std::function<IOStatus()>& operation) {
    if (!Watches(path)) return operation();
    const IOStatus status = Turn();
    if (!status.ok()) return status;
    const std::lock_guard<std::mutex> lock(mutex_);
    Write(note);
    return operation();
  }

  // As Change, and keeps what has the name `to`, in case the rename is lost.
  IOStatus Rename(const std::string& from, const std::string& to,
                  const std::function<IOStatus()>& operation) {
    const std::string undo =
        plan_.notes + "/undo" + std::to_string(++undo_files_);
    const bool existed = Watches(to) && link(to.c_str(), undo.c_str()) == 0;
    return Change(
        to,
        "rename " + (existed ? undo : std::string("-")) + " " + from + " " + to,
        operation);
  }

  void Note(const std::string& note) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Write(note);
  }

 private:
  void Write(const std::string& line) {
    const std::string text = line + "\n";
    if (write(notes_, text.data(), text.size()) !=
        static_cast<ssize_t>(text.size())) {
      journal_->Fail("the notes on what was synced cannot be written");
    }
  }

  const DiskPlan plan_;
  Journal* const journal_;
  std::mutex mutex_;
  int notes_ = -1;
  std::atomic<uint64_t> undo_files_{0};
  std::atomic<uint64_t> operations_{0};
};

// Nothing is really synced: the process dies, not the machine.
class WatchedFile : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  WatchedFile(std::unique_ptr<FSWritableFile>&& file, std::string path,
              uint64_t size, Operations* operations)
      : FSWritableFileOwnerWrapper(std::move(file)),
        path_(std::move(path)),
        size_(size),
        operations_(operations) {}

  using FSWritableFileOwnerWrapper::PositionedAppend;

  IOStatus Append(const Slice& data, const IOOptions& options,
                  IODebugContext* context) override {
    const IOStatus turn = operations_->Turn();
    // A failed write may have written some of it.
    const size_t n = turn.ok() ? data.size() : data.size() / 2;
    const IOStatus status =
        target()->Append(Slice(data.data(), n), options, context);
    if (status.ok()) size_ += n;
    return turn.ok() ? status : turn;
  }
  IOStatus Append(const Slice& data, const IOOptions& options,
                  const rocksdb::DataVerificationInfo&,
                  IODebugContext* context) override {
    return Append(data, options, context);
  }
  IOStatus Truncate(uint64_t size, const IOOptions& options,
                    IODebugContext* context) override {
    IOStatus status = operations_->Turn();
    if (status.ok()) status = target()->Truncate(size, options, context);
    if (status.ok()) size_ = size;
    return status;
  }
  IOStatus Sync(const IOOptions&, IODebugContext*) override {
    const uint64_t size = size_;
    IOStatus status = operations_->Turn();
    if (status.ok()) {
      operations_->Note("sync " + std::to_string(size) + " " + path_);
    }
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
  Operations* const operations_;
};

class WatchedFolder : public rocksdb::FSDirectoryWrapper {
 public:
  WatchedFolder(std::unique_ptr<FSDirectory>&& folder, std::string path,
                Operations* operations)
      : FSDirectoryWrapper(std::move(folder)),
        path_(std::move(path)),
        operations_(operations) {}

  IOStatus Fsync(const IOOptions&, IODebugContext*) override {
    IOStatus status = operations_->Turn();
    if (status.ok()) operations_->Note("folder " + path_);
    return status;
  }
  IOStatus FsyncWithDirOptions(const IOOptions& options,
                               IODebugContext* context,
                               const rocksdb::DirFsyncOptions&) override {
    return Fsync(options, context);
  }

 private:
  const std::string path_;
  Operations* const operations_;
};

class Disk : public rocksdb::FileSystemWrapper {
 public:
  Disk(const DiskPlan& plan, Journal* journal)
      : FileSystemWrapper(rocksdb::FileSystem::Default()),
        operations_(plan, journal) {}

  const char* Name() const override { return "TortureDisk"; }

  IOStatus NewWritableFile(const std::string& path, const FileOptions& options,
                           std::unique_ptr<FSWritableFile>* file,
                           IODebugContext* context) override {
    const IOStatus status = operations_.Change(path, "new " + path, [&] {
      return target()->NewWritableFile(path, options, file, context);
    });
    if (status.ok() && operations_.Watches(path)) Watch(path, 0, file);
    return status;
  }
  IOStatus ReopenWritableFile(const std::string& path,
                              const FileOptions& options,
                              std::unique_ptr<FSWritableFile>* file,
                              IODebugContext* context) override {
    uint64_t size = 0;
    IOStatus status =
        target()->ReopenWritableFile(path, options, file, context);
    if (!status.ok() || !operations_.Watches(path)) return status;
    status = target()->GetFileSize(path, options.io_options, &size, context);
    if (status.ok()) Watch(path, size, file);
    return status;
  }
  IOStatus NewDirectory(const std::string& path, const IOOptions& options,
                        std::unique_ptr<FSDirectory>* folder,
                        IODebugContext* context) override {
    const IOStatus status =
        target()->NewDirectory(path, options, folder, context);
    if (status.ok() && operations_.Watches(path + "/x")) {
      *folder = std::make_unique<WatchedFolder>(std::move(*folder), path,
                                                &operations_);
    }
    return status;
  }
  IOStatus RenameFile(const std::string& from, const std::string& to,
                      const IOOptions& options,
                      IODebugContext* context) override {
    return operations_.Rename(from, to, [&] {
      return target()->RenameFile(from, to, options, context);
    });
  }
  IOStatus LinkFile(const std::string& from, const std::string& to,
                    const IOOptions& options,
                    IODebugContext* context) override {
    return operations_.Change(to, "new " + to, [&] {
      return target()->LinkFile(from, to, options, context);
    });
  }
  IOStatus DeleteFile(const std::string& path, const IOOptions& options,
                      IODebugContext* context) override {
    return operations_.Change(path, "delete " + path, [&] {
      return target()->DeleteFile(path, options, context);
    });
  }

 private:
  void Watch(const std::string& path, uint64_t size,
             std::unique_ptr<FSWritableFile>* file) {
    *file = std::make_unique<WatchedFile>(std::move(*file), path, size,
                                          &operations_);
  }

  Operations operations_;
};

class FaultyFile : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  FaultyFile(std::unique_ptr<FSRandomAccessFile>&& file, const Fault& fault)
      : FSRandomAccessFileOwnerWrapper(std::move(file)), fault_(fault) {}

  IOStatus Read(uint64_t offset, size_t n, const IOOptions& options,
                Slice* result, char* scratch,
                IODebugContext* context) const override {
    const bool touched =
        offset < fault_.offset + fault_.size && offset + n > fault_.offset;
    if (touched && fault_.bit < 0) {
      return IOStatus::IOError("a read fails", "by the torture");
    }
    IOStatus status =
        target()->Read(offset, n, options, result, scratch, context);
    const uint64_t at = fault_.offset - offset;
    if (status.ok() && touched && at < result->size()) {
      if (result->data() != scratch) {
        std::memcpy(scratch, result->data(), result->size());
        *result = Slice(scratch, result->size());
      }
      scratch[at] = static_cast<char>(scratch[at] ^ (1 << fault_.bit));
    }
    return status;
  }
  IOStatus MultiRead(rocksdb::FSReadRequest* requests, size_t n,
                     const IOOptions& options,
                     IODebugContext* context) override {
    for (size_t i = 0; i < n; ++i) {
      rocksdb::FSReadRequest& request = requests[i];
      request.status = Read(request.offset, request.len, options,
                            &request.result, request.scratch, context);
    }
    return IOStatus::OK();
  }
  IOStatus Prefetch(uint64_t, size_t, const IOOptions&,
                    IODebugContext*) override {
    return IOStatus::NotSupported();
  }

 private:
  const Fault fault_;
};

class FaultyFileSystem : public rocksdb::FileSystemWrapper {
 public:
  explicit FaultyFileSystem(Fault fault)
      : FileSystemWrapper(rocksdb::FileSystem::Default()),
        fault_(std::move(fault)) {}

  static const char* kClassName() { return "TortureFaults"; }
  const char* Name() const override { return kClassName(); }

  IOStatus NewRandomAccessFile(const std::string& path,
                               const FileOptions& options,
                               std::unique_ptr<FSRandomAccessFile>* file,
                               IODebugContext* context) override {
    const IOStatus status =
        target()->NewRandomAccessFile(path, options, file, context);
    if (status.ok() && fs::path(path).filename() == fault_.file) {
      *file = std::make_unique<FaultyFile>(std::move(*file), fault_);
    }
    return status;
  }

 private:
  const Fault fault_;
};

}  // namespace

std::shared_ptr<rocksdb::FileSystem> NewDisk(const DiskPlan& plan,
                                             Journal* journal) {
  return std::make_shared<Disk>(plan, journal);
}

uint64_t LosePower(const DiskPlan& plan, const PowerLoss& loss) {
  struct Watched {
    uint64_t synced = 0;  // bytes
    bool named = false;   // the folder was synced since it has this name
  };
  struct Rename {
    std::string undo;  // what had the name before, or "-"
    std::string to;
    bool synced = false;
  };
  // In the order of their numbers: later logs lose what an earlier one lost.
  std::map<std::string, Watched> files;
  std::vector<Rename> renames;
  std::ifstream notes(plan.notes + "/disk");
  for (std::string line; std::getline(notes, line);) {
    std::istringstream words(line);
    std::string what;
    std::string name;
    words >> what;
    if (what == "new") {
      words >> name;
      files[name] = Watched();
    } else if (what == "sync") {
      uint64_t size = 0;
      words >> size >> name;
      const auto found = files.find(name);
      if (found != files.end()) found->second.synced = size;
    } else if (what == "folder") {
      for (auto& [unused, watched] : files) watched.named = true;
      for (Rename& rename : renames) rename.synced = true;
    } else if (what == "rename") {
      Rename rename;
      words >> rename.undo >> name >> rename.to;
      // A file from elsewhere is older than the notes.
      Watched watched = files[name];
      files.erase(name);
      watched.named = false;
      files[rename.to] = watched;
      renames.push_back(rename);
    } else if (what == "delete") {
      words >> name;
      files.erase(name);
    } else {
      throw std::runtime_error("unknown note of the disk: " + line);
    }
  }
  uint64_t changed = 0;
  bool tail_kept = false;
  for (const auto& [path, watched] : files) {
    std::error_code error;
    const uint64_t size = fs::file_size(path, error);
    if (error) continue;
    if (!watched.named) {
      fs::remove(path);
      ++changed;
      continue;
    }
    const bool is_log = fs::path(path).extension() == ".log";
    uint64_t kept = is_log && loss.forget_syncs ? 0 : watched.synced;
    if (size <= kept) continue;
    if (is_log && !tail_kept) {
      tail_kept = true;
      kept += static_cast<uint64_t>(static_cast<double>(size - kept) *
                                    loss.log_tail_kept);
    }
    fs::resize_file(path, kept);
    ++changed;
  }
  for (auto rename = renames.rbegin(); rename != renames.rend(); ++rename) {
    if (rename->synced || rename->undo == "-") continue;
    fs::rename(rename->undo, rename->to);
    ++changed;
  }
  return changed;
}

std::string Fault::Describe() const {
  const std::string where =
      block + " of " + file + " at offset " + std::to_string(offset);
  return bit < 0 ? std::to_string(size) + " bytes unreadable in " + where
                 : "bit " + std::to_string(bit) + " flipped in " + where;
}

std::unique_ptr<rocksdb::Env> NewFaultyEnv(const Fault& fault) {
  return rocksdb::NewCompositeEnv(std::make_shared<FaultyFileSystem>(fault));
}

}  // namespace deltabloom::torture
