#include "db_bench_ext/torture/faults.h"

#include <cstring>
#include <filesystem>
#include <utility>

namespace deltabloom::torture {

using rocksdb::FileOptions;
using rocksdb::FSRandomAccessFile;
using rocksdb::FSRandomAccessFileOwnerWrapper;
using rocksdb::FSReadRequest;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

namespace {

class FaultyFile : public FSRandomAccessFileOwnerWrapper {
 public:
  FaultyFile(std::unique_ptr<FSRandomAccessFile>&& file, const Fault& fault)
      : FSRandomAccessFileOwnerWrapper(std::move(file)), fault_(fault) {}

  IOStatus Read(uint64_t offset, size_t n, const IOOptions& options,
                Slice* result, char* scratch,
                IODebugContext* context) const override {
    const bool touched =
        offset < fault_.offset + fault_.size && offset + n > fault_.offset;
    if (touched && fault_.kind == Fault::Kind::kReadError) {
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
  IOStatus MultiRead(FSReadRequest* requests, size_t n,
                     const IOOptions& options,
                     IODebugContext* context) override {
    for (size_t i = 0; i < n; ++i) {
      FSReadRequest& request = requests[i];
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
    if (status.ok() && std::filesystem::path(path).filename() == fault_.file) {
      *file = std::make_unique<FaultyFile>(std::move(*file), fault_);
    }
    return status;
  }

 private:
  const Fault fault_;
};

}  // namespace

std::string Fault::Describe() const {
  const std::string where =
      block + " of " + file + " at offset " + std::to_string(offset);
  return kind == Kind::kBitFlip
             ? "bit " + std::to_string(bit) + " flipped in " + where
             : std::to_string(size) + " bytes unreadable in " + where;
}

std::shared_ptr<rocksdb::FileSystem> NewFaultyFileSystem(const Fault& fault) {
  return std::make_shared<FaultyFileSystem>(fault);
}

}  // namespace deltabloom::torture
