#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <ostream>
#include <string>
#include <system_error>
#include <utility>

#include "tests/torture/torture.h"

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

// The turns of operations that change files, and the notes on them: lines of an
// operation, a file, the name it gets, and a number.
class Operations {
 public:
  Operations(const DiskPlan& plan, Journal* journal)
      : plan_(plan), journal_(journal), notes_(plan.notes + "/disk") {}

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
  template <typename Operation>
  IOStatus Change(const std::string& path, const std::string& note,
                  const Operation& operation) {
    if (!Watches(path)) return operation();
    const IOStatus status = Turn();
    if (!status.ok()) return status;
    const std::lock_guard<std::mutex> lock(mutex_);
    Write(note);
    return operation();
  }

  // A sync: nothing is really synced, as the process dies, not the machine.
  IOStatus Sync(const std::string& note) {
    IOStatus status = Turn();
    const std::lock_guard<std::mutex> lock(mutex_);
    if (status.ok()) Write(note);
    return status;
  }

 private:
  void Write(const std::string& note) {
    if (!(notes_ << note << std::endl)) {
      journal_->Fail("the notes on what was synced cannot be written");
    }
  }

  const DiskPlan plan_;
  Journal* const journal_;
  std::mutex mutex_;
  std::ofstream notes_;
  std::atomic<uint64_t> operations_{0};
};

class WatchedFile : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  WatchedFile(std::unique_ptr<FSWritableFile>&& file, std::string path,
              Operations* operations)
      : FSWritableFileOwnerWrapper(std::move(file)),
        path_(std::move(path)),
        operations_(operations) {}

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
  IOStatus Sync(const IOOptions&, IODebugContext*) override {
    return operations_->Sync("sync " + path_ + " - " + std::to_string(size_));
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* context) override {
    return Sync(options, context);
  }

 private:
  const std::string path_;
  std::atomic<uint64_t> size_{0};
  Operations* const operations_;
};

class WatchedFolder : public FSDirectory {
 public:
  explicit WatchedFolder(Operations* operations) : operations_(operations) {}

  IOStatus Fsync(const IOOptions&, IODebugContext*) override {
    return operations_->Sync("folder - - 0");
  }
  IOStatus Close(const IOOptions&, IODebugContext*) override {
    return IOStatus::OK();
  }

 private:
  Operations* const operations_;
};

class FaultyFile : public FSRandomAccessFile {
 public:
  FaultyFile(std::unique_ptr<FSRandomAccessFile>&& file, const Fault& fault)
      : file_(std::move(file)), fault_(fault) {}

  IOStatus Read(uint64_t offset, size_t n, const IOOptions& options,
                Slice* result, char* scratch,
                IODebugContext* context) const override {
    const bool touched =
        offset < fault_.offset + fault_.size && offset + n > fault_.offset;
    if (touched && fault_.bit < 0) {
      return IOStatus::IOError("a read fails", "by the torture");
    }
    IOStatus status = file_->Read(offset, n, options, result, scratch, context);
    const uint64_t at = fault_.offset - offset;
    if (status.ok() && touched && at < result->size()) {
      std::memmove(scratch, result->data(), result->size());
      *result = Slice(scratch, result->size());
      scratch[at] = static_cast<char>(scratch[at] ^ (1 << fault_.bit));
    }
    return status;
  }

 private:
  const std::unique_ptr<FSRandomAccessFile> file_;
  const Fault fault_;
};

class Disk : public rocksdb::FileSystemWrapper {
 public:
  Disk(const DiskPlan& plan, Journal* journal)
      : FileSystemWrapper(rocksdb::FileSystem::Default()),
        plan_(plan),
        operations_(plan, journal) {}

  static const char* kClassName() { return "TortureDisk"; }
  const char* Name() const override { return kClassName(); }

  IOStatus NewRandomAccessFile(const std::string& path,
                               const FileOptions& options,
                               std::unique_ptr<FSRandomAccessFile>* file,
                               IODebugContext* context) override {
    const IOStatus status =
        target()->NewRandomAccessFile(path, options, file, context);
    if (status.ok() && fs::path(path).filename() == plan_.fault.file) {
      *file = std::make_unique<FaultyFile>(std::move(*file), plan_.fault);
    }
    return status;
  }
  IOStatus NewWritableFile(const std::string& path, const FileOptions& options,
                           std::unique_ptr<FSWritableFile>* file,
                           IODebugContext* context) override {
    const IOStatus status =
        operations_.Change(path, "new " + path + " - 0", [&] {
          return target()->NewWritableFile(path, options, file, context);
        });
    if (status.ok() && operations_.Watches(path)) {
      *file =
          std::make_unique<WatchedFile>(std::move(*file), path, &operations_);
    }
    return status;
  }
  IOStatus NewDirectory(const std::string& path, const IOOptions& options,
                        std::unique_ptr<FSDirectory>* folder,
                        IODebugContext* context) override {
    if (!operations_.Watches(path + "/x")) {
      return target()->NewDirectory(path, options, folder, context);
    }
    *folder = std::make_unique<WatchedFolder>(&operations_);
    return IOStatus::OK();
  }
  IOStatus RenameFile(const std::string& from, const std::string& to,
                      const IOOptions& options,
                      IODebugContext* context) override {
    return operations_.Change(to, "rename " + from + " " + to + " 0", [&] {
      return target()->RenameFile(from, to, options, context);
    });
  }
  IOStatus LinkFile(const std::string& from, const std::string& to,
                    const IOOptions& options,
                    IODebugContext* context) override {
    // A file to ingest: its content is older than the process.
    const std::string note = "new " + to + " - " + std::to_string(UINT64_MAX);
    return operations_.Change(to, note, [&] {
      return target()->LinkFile(from, to, options, context);
    });
  }
  IOStatus DeleteFile(const std::string& path, const IOOptions& options,
                      IODebugContext* context) override {
    return operations_.Change(path, "delete " + path + " - 0", [&] {
      return target()->DeleteFile(path, options, context);
    });
  }

 private:
  const DiskPlan plan_;
  Operations operations_;
};

}  // namespace

std::unique_ptr<rocksdb::Env> NewDisk(const DiskPlan& plan, Journal* journal) {
  return rocksdb::NewCompositeEnv(std::make_shared<Disk>(plan, journal));
}

void LosePower(const DiskPlan& plan) {
  struct Watched {
    uint64_t synced = 0;  // bytes
    bool named = false;   // the folder was synced since, or a file renamed
  };
  std::map<std::string, Watched> files;
  std::ifstream notes(plan.notes + "/disk");
  std::string what;
  std::string file;
  std::string to;
  for (uint64_t number = 0; notes >> what >> file >> to >> number;) {
    if (what == "new") {
      files[file] = Watched{number, false};
    } else if (what == "sync" && files.count(file) != 0) {
      files[file].synced = number;
    } else if (what == "rename") {
      files[to] = files[file];
    }
    if (what == "delete" || what == "rename") files.erase(file);
    if (what == "folder" || what == "rename") {
      for (auto& [unused, watched] : files) watched.named = true;
    }
  }
  for (const auto& [path, watched] : files) {
    std::error_code error;
    const uint64_t size = fs::file_size(path, error);
    if (error) continue;
    if (!watched.named) {
      fs::remove(path);
      continue;
    }
    const bool is_log = fs::path(path).extension() == ".log";
    const uint64_t kept = is_log && plan.forget_syncs ? 0 : watched.synced;
    if (size > kept) fs::resize_file(path, kept);
  }
}

std::string Fault::Describe() const {
  const std::string where =
      block + " of " + file + " at offset " + std::to_string(offset);
  return bit < 0 ? std::to_string(size) + " bytes unreadable in " + where
                 : "bit " + std::to_string(bit) + " flipped in " + where;
}

}  // namespace deltabloom::torture
