// Learns the trees of the databases it listens to.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_LEVELS_TREE_LISTENER_H_
#define DELTABLOOM_ENGINES_ROCKSDB_LEVELS_TREE_LISTENER_H_

#include <memory>
#include <string>

#include "engines/rocksdb/levels/trees.h"
#include "engines/rocksdb/policy/options.h"
#include "rocksdb/listener.h"

namespace deltabloom::internal {

// Without state of its own: any number may listen to a database. Nothing throws
// into RocksDB; what could not be learned for lack of memory is asked for
// again.
class TreeListener final : public ROCKSDB_NAMESPACE::EventListener {
 public:
  using DB = ROCKSDB_NAMESPACE::DB;

  static const char* kClassName() { return kPolicyName; }
  const char* Name() const override { return kPolicyName; }

  void OnFlushBegin(DB* db,
                    const ROCKSDB_NAMESPACE::FlushJobInfo& info) override;
  void OnFlushCompleted(DB* db,
                        const ROCKSDB_NAMESPACE::FlushJobInfo& info) override;
  void OnCompactionBegin(
      DB* db, const ROCKSDB_NAMESPACE::CompactionJobInfo& info) override;
  void OnCompactionCompleted(
      DB* db, const ROCKSDB_NAMESPACE::CompactionJobInfo& info) override;
  void OnExternalFileIngested(
      DB* db,
      const ROCKSDB_NAMESPACE::ExternalFileIngestionInfo& info) override;

  void OnTableFileCreationStarted(
      const ROCKSDB_NAMESPACE::TableFileCreationBriefInfo& info) override;
  void OnTableFileCreated(
      const ROCKSDB_NAMESPACE::TableFileCreationInfo& info) override;
  void OnTableFileDeleted(
      const ROCKSDB_NAMESPACE::TableFileDeletionInfo& info) override;

  void OnColumnFamilyHandleDeletionStarted(
      ROCKSDB_NAMESPACE::ColumnFamilyHandle* handle) override;
};

// Whether one is among them.
bool HasTreeListener(
    const std::vector<std::shared_ptr<ROCKSDB_NAMESPACE::EventListener>>&
        listeners);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_LEVELS_TREE_LISTENER_H_
