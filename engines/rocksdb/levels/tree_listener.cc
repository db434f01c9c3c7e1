#include "engines/rocksdb/levels/tree_listener.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "engines/rocksdb/base/errors.h"
#include "engines/rocksdb/base/options.h"
#include "engines/rocksdb/base/process.h"
#include "engines/rocksdb/levels/tree_bits.h"
#include "engines/rocksdb/levels/tree_files.h"
#include "engines/rocksdb/levels/tree_reading.h"
#include "engines/rocksdb/levels/trees.h"
#include "rocksdb/db.h"
#include "rocksdb/listener.h"

namespace deltabloom::internal {
namespace {

using rocksdb::DB;

// Returns 123 for "/path/000123.sst", and 0 for names of other shapes.
uint64_t FileNumber(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash != std::string_view::npos) path.remove_prefix(slash + 1);
  uint64_t number = 0;
  std::from_chars(path.data(), path.data() + path.size(), number);
  return number;
}

// Returns the facts of a table from its properties. Its keys are those of the
// filter, or the entries of the table if it has no filter or RocksDB is too old
// to count the keys of filters.
TableFacts FactsOf(const rocksdb::TableProperties& properties,
                   int origin = kUnknownOrigin) {
  TableFacts facts;
  facts.origin = origin;
  facts.filter_bits = 8 * static_cast<double>(properties.filter_size);
  facts.keys = properties.filter_size > 0 && properties.num_filter_entries > 0
                   ? properties.num_filter_entries
                   : properties.num_entries;
  return facts;
}

// Learns the facts of tables that are not known yet.
void LearnTables(const rocksdb::TablePropertiesCollection& tables,
                 TreeBits* tree) {
  for (const auto& [path, properties] : tables) {
    const uint64_t file = FileNumber(path);
    if (properties == nullptr || file == 0) continue;
    if (tree->Find(file).facts.filter_bits >= 0) continue;
    tree->Learn(file, FactsOf(*properties));
  }
}

// Returns the job of a compaction that has begun. Its inputs are in the tree.
Compaction CompactionOf(const rocksdb::CompactionJobInfo& info,
                        const TreeBits& tree) {
  Compaction job;
  job.family = info.cf_name;
  job.manual =
      info.compaction_reason == rocksdb::CompactionReason::kManualCompaction;
  for (const auto& file : info.input_file_infos) {
    job.inputs.push_back(file.file_number);
    job.read.Add(tree.Find(file.file_number).facts);
  }
  return job;
}

// Takes note of a table that a job has written. REQUIRES: trees->mutex is held.
void CountWritten(const rocksdb::TableFileCreationInfo& info, uint64_t file,
                  const TableFacts& facts, DatabaseTrees* trees) {
  const auto job = trees->jobs.find(info.job_id);
  if (job != trees->jobs.end()) {
    job->second.written.Add(facts);
    job->second.last_output = file;
  }
  // No event will say when CompactFiles has ended.
  trees->changed_silently |=
      info.reason == rocksdb::TableFileCreationReason::kCompaction &&
      (job == trees->jobs.end() || job->second.silent);
}

// Forgets the CompactFiles whose last table is deleted: it has failed, so its
// tables replace nothing, or it has ended long ago. REQUIRES: trees->mutex is
// held.
void ForgetSilentJob(uint64_t deleted, DatabaseTrees* trees) {
  for (auto job = trees->jobs.begin(); job != trees->jobs.end();) {
    const bool ended = job->second.silent && job->second.last_output == deleted;
    job = ended ? trees->jobs.erase(job) : std::next(job);
  }
}

// Nothing throws: if memory runs out, an event is lost, and the trees differ
// from RocksDB's until they are read again.
class TreeListener final : public rocksdb::EventListener {
 public:
  explicit TreeListener(Process* process) : process_(process) {}

  const char* Name() const override { return kPolicyName; }

  void OnFlushBegin(DB* db, const rocksdb::FlushJobInfo& info) override {
    WithoutThrowing([&] {
      const auto trees = TreesOfDB(process_, db);
      UpdateTree(db, trees.get(), info.cf_name);
      // RocksDB tells the entries in memory of a column family only for its
      // handle, which is not known here. So this is their number in all column
      // families together, which is no less.
      uint64_t keys = 0;
      db->GetAggregatedIntProperty(DB::Properties::kNumEntriesImmMemTables,
                                   &keys);
      const std::lock_guard<std::mutex> lock(trees->mutex);
      FamilyTree* const family = FindFamily(trees.get(), info.cf_name);
      if (family != nullptr) family->tree.ExpectFlush(keys);
    });
  }

  void OnFlushCompleted(DB* db, const rocksdb::FlushJobInfo& info) override {
    WithoutThrowing([&] {
      UpdateTree(db, TreesOfDB(process_, db).get(), info.cf_name, {},
                 {{info.file_number, 0, info.table_properties.num_entries}});
    });
  }

  void OnCompactionBegin(DB* db,
                         const rocksdb::CompactionJobInfo& info) override {
    WithoutThrowing([&] {
      const auto trees = TreesOfDB(process_, db);
      UpdateTree(db, trees.get(), info.cf_name);
      const std::lock_guard<std::mutex> lock(trees->mutex);
      FamilyTree* const family = FindFamily(trees.get(), info.cf_name);
      if (family == nullptr) return;
      LearnTables(info.table_properties, &family->tree);
      trees->jobs[info.job_id] = CompactionOf(info, family->tree);
    });
  }

  void OnCompactionCompleted(DB* db,
                             const rocksdb::CompactionJobInfo& info) override {
    WithoutThrowing([&] {
      std::vector<uint64_t> removed;
      for (const auto& file : info.input_file_infos) {
        removed.push_back(file.file_number);
      }
      std::vector<LiveTable> added;
      for (const auto& file : info.output_file_infos) {
        added.push_back({file.file_number, file.level, 0});
      }
      const auto trees = TreesOfDB(process_, db);
      {
        const std::lock_guard<std::mutex> lock(trees->mutex);
        trees->jobs.erase(info.job_id);
      }
      if (info.status.ok()) {
        UpdateTree(db, trees.get(), info.cf_name, removed, added);
      }
    });
  }

  void OnExternalFileIngested(
      DB* db, const rocksdb::ExternalFileIngestionInfo& info) override {
    WithoutThrowing([&] {
      const auto trees = TreesOfDB(process_, db);
      const uint64_t file = FileNumber(info.internal_file_path);
      {
        const std::lock_guard<std::mutex> lock(trees->mutex);
        FamilyTree* const family = FindFamily(trees.get(), info.cf_name);
        if (family != nullptr && file != 0) {
          family->tree.LearnNew(file, FactsOf(info.table_properties));
        }
        // The event does not say to which level the file was added.
        trees->changed_silently = true;
      }
      UpdateTree(db, trees.get(), info.cf_name);
    });
  }

  void OnTableFileCreationStarted(
      const rocksdb::TableFileCreationBriefInfo& info) override {
    WithoutThrowing([&] {
      AnnounceTable(process_, {info.cf_name, info.file_path, info.job_id,
                               FindTrees(process_, info.db_name)});
    });
  }

  void OnTableFileCreated(const rocksdb::TableFileCreationInfo& info) override {
    // The announcement is still there if the policy is not one of Deltabloom's.
    DropAnnouncement(process_);
    WithoutThrowing([&] {
      const auto trees = FindTrees(process_, info.db_name);
      const uint64_t file = FileNumber(info.file_path);
      if (trees == nullptr || file == 0) return;
      const std::lock_guard<std::mutex> lock(trees->mutex);
      const auto written = trees->origins.extract(info.file_path);
      FamilyTree* const family = FindFamily(trees.get(), info.cf_name);
      if (family == nullptr || !info.status.ok()) return;
      // Another listener of the database was first.
      if (family->tree.Find(file).facts.keys > 0) return;
      const TableFacts facts = FactsOf(
          info.table_properties, written ? written.mapped() : kUnknownOrigin);
      family->tree.LearnNew(file, facts);
      CountWritten(info, file, facts, trees.get());
      if (info.reason == rocksdb::TableFileCreationReason::kFlush) {
        family->tree.Flushed(facts.keys);
      }
    });
  }

  void OnTableFileDeleted(const rocksdb::TableFileDeletionInfo& info) override {
    WithoutThrowing([&] {
      const auto trees = FindTrees(process_, info.db_name);
      const uint64_t file = FileNumber(info.file_path);
      if (trees == nullptr || file == 0) return;
      const std::lock_guard<std::mutex> lock(trees->mutex);
      trees->origins.erase(info.file_path);
      ForgetSilentJob(file, trees.get());
      for (auto& [name, family] : trees->families) {
        if (family.tree.Find(file).level >= 0) {
          trees->changed_silently = true;
          family.deleted.insert(file);
        } else {
          family.tree.Forget(file);
        }
      }
    });
  }

  // RocksDB deletes the handle of the default column family when the database
  // is closed.
  void OnColumnFamilyHandleDeletionStarted(
      rocksdb::ColumnFamilyHandle* handle) override {
    WithoutThrowing([&] { ForgetTrees(process_, handle); });
  }

 private:
  Process* const process_;
};

}  // namespace

std::unique_ptr<rocksdb::EventListener> NewTreeListener(Process* process) {
  process->listener_was_made = true;
  return std::make_unique<TreeListener>(process);
}

bool HasTreeListener(
    const std::vector<std::shared_ptr<rocksdb::EventListener>>& listeners) {
  return std::any_of(listeners.begin(), listeners.end(),
                     [](const auto& listener) {
                       return listener != nullptr &&
                              std::string_view(listener->Name()) == kPolicyName;
                     });
}

}  // namespace deltabloom::internal
