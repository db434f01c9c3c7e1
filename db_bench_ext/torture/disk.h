// The file system of the working process: it writes down what was synced, so
// that a loss of power can be imitated after the process was killed; and it can
// fail or stop at a given operation.
//
// RocksDB's own file system for this (FaultInjectionTestFS) is not in its
// shared library. As there, what is lost is: bytes behind the last sync of a
// file, files made, and names given by a rename, since the last sync of their
// folder. A deletion is never lost.
#ifndef DELTABLOOM_DB_BENCH_EXT_TORTURE_DISK_H_
#define DELTABLOOM_DB_BENCH_EXT_TORTURE_DISK_H_

#include <rocksdb/file_system.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "db_bench_ext/torture/journal.h"

namespace deltabloom::torture {

struct DiskPlan {
  // The folder whose files are watched, and one for what LosePower() needs.
  std::string database;
  std::string notes;
  // The number of the operation that changes a file at which all operations
  // stop, for ever, and journal->wants_to_die is set; 0: none.
  uint64_t stop_at = 0;
  // The first operation that fails, of so many; 0: none.
  uint64_t fail_at = 0;
  uint64_t failures = 0;
};

class Disk : public rocksdb::FileSystemWrapper {
 public:
  // Throws std::runtime_error if there is no place for notes.
  Disk(const DiskPlan& plan, Journal* journal);
  ~Disk() override;

  static const char* kClassName() { return "TortureDisk"; }
  const char* Name() const override { return kClassName(); }

  rocksdb::IOStatus NewWritableFile(
      const std::string& path, const rocksdb::FileOptions& options,
      std::unique_ptr<rocksdb::FSWritableFile>* file,
      rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus ReopenWritableFile(
      const std::string& path, const rocksdb::FileOptions& options,
      std::unique_ptr<rocksdb::FSWritableFile>* file,
      rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus NewDirectory(const std::string& path,
                                 const rocksdb::IOOptions& options,
                                 std::unique_ptr<rocksdb::FSDirectory>* folder,
                                 rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus LinkFile(const std::string& from, const std::string& to,
                             const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus DeleteFile(const std::string& path,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* context) override;

  // For its files. Before an operation: its turn, which may never come, or an
  // error.
  rocksdb::IOStatus Turn();
  void NoteSync(const std::string& path, uint64_t size);
  void NoteFolderSync(const std::string& path);

 private:
  bool Watches(const std::string& path) const;
  void Note(const std::string& line);

  const DiskPlan plan_;
  Journal* const journal_;
  std::mutex mutex_;
  int notes_ = -1;
  uint64_t undo_files_ = 0;
  std::atomic<uint64_t> operations_{0};
};

// Of bytes that were not synced, the share that reached the disk all the same,
// in the first log that has any; elsewhere none did.
struct PowerLoss {
  double log_tail_kept = 0;
  bool forget_syncs = false;  // of logs: a broken disk
};

// What the loss of power does to the files, when the process that had the Disk
// is dead. Returns the number of files it changed. Throws std::runtime_error.
uint64_t LosePower(const DiskPlan& plan, const PowerLoss& loss);

}  // namespace deltabloom::torture

#endif  // DELTABLOOM_DB_BENCH_EXT_TORTURE_DISK_H_
