// Learns the trees of the databases it listens to.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_LEVELS_TREE_LISTENER_H_
#define DELTABLOOM_ENGINES_ROCKSDB_LEVELS_TREE_LISTENER_H_

#include <memory>
#include <string>

#include "engines/rocksdb/levels/trees.h"
#include "engines/rocksdb/policy/options.h"
#include "rocksdb/listener.h"

namespace deltabloom::internal {

// Has no state of its own: any number may listen to a database. Nothing throws
// into RocksDB; what could not be learned for lack of memory is read again.
class TreeListener final : public rocksdb::EventListener {
 public:
  using DB = rocksdb::DB;

  static const char* kClassName() { return kPolicyName; }
  const char* Name() const override { return kPolicyName; }

  void OnFlushBegin(DB* db, const rocksdb::FlushJobInfo& info) override;
  void OnFlushCompleted(DB* db, const rocksdb::FlushJobInfo& info) override;
  void OnCompactionBegin(DB* db,
                         const rocksdb::CompactionJobInfo& info) override;
  void OnCompactionCompleted(DB* db,
                             const rocksdb::CompactionJobInfo& info) override;
  void OnExternalFileIngested(
      DB* db, const rocksdb::ExternalFileIngestionInfo& info) override;

  void OnTableFileCreationStarted(
      const rocksdb::TableFileCreationBriefInfo& info) override;
  void OnTableFileCreated(const rocksdb::TableFileCreationInfo& info) override;
  void OnTableFileDeleted(const rocksdb::TableFileDeletionInfo& info) override;

  void OnColumnFamilyHandleDeletionStarted(
      rocksdb::ColumnFamilyHandle* handle) override;
};

// Whether one of the listeners is a TreeListener.
bool HasTreeListener(
    const std::vector<std::shared_ptr<rocksdb::EventListener>>& listeners);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_LEVELS_TREE_LISTENER_H_
