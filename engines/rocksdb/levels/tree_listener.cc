#include "engines/rocksdb/levels/tree_listener.h"

#include <algorithm>
#include <charconv>
#include <exception>
#include <string_view>
#include <utility>
#include <vector>

#include "engines/rocksdb/policy/family_check.h"
#include "engines/rocksdb/range/range_extractor.h"
#include "rocksdb/db.h"
#include "rocksdb/metadata.h"

namespace deltabloom::internal {
namespace {

using rocksdb::CompactionFileInfo;
using rocksdb::DB;

// RocksDB copies the names and keys of all files under its mutex when the tree
// is read from it. The tree is read so rarely that this many files are copied
// per event; in between, events keep it up to date.
constexpr uint64_t kFilesPerEvent = 16;

template <typename Fn>
void WithoutThrowing(Fn fn) {
  try {
    fn();
  } catch (const std::exception&) {  // out of memory
  }
}

// 123 for "/path/000123.sst"; 0 for other names.
uint64_t FileNumber(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash != std::string_view::npos) path.remove_prefix(slash + 1);
  uint64_t number = 0;
  std::from_chars(path.data(), path.data() + path.size(), number);
  return number;
}

TableFacts FactsOf(const rocksdb::TableProperties& properties, int origin) {
  TableFacts facts;
  facts.origin = origin;
  facts.filter_bits = 8 * static_cast<double>(properties.filter_size);
  facts.keys = properties.filter_size > 0 && properties.num_filter_entries > 0
                   ? properties.num_filter_entries
                   : properties.num_entries;
  return facts;
}

void LearnTables(const rocksdb::TablePropertiesCollection& tables,
                 TreeBits* bits) {
  for (const auto& [path, properties] : tables) {
    const uint64_t file = FileNumber(path);
    if (properties == nullptr || file == 0 || bits->Knows(file)) continue;
    bits->Learn(file, FactsOf(*properties, kUnknownOrigin));
  }
}

std::shared_ptr<DatabaseTrees> TreesOf(DB* db) {
  return internal::TreesOf(db->GetName(), db->DefaultColumnFamily());
}

// Reads the trees from RocksDB; false if that is not due.
bool Refresh(DB* db, DatabaseTrees* trees) {
  size_t files = 0;
  size_t families = 0;
  uint64_t silent_changes = 0;
  bool changed = false;
  {
    const std::lock_guard<std::mutex> lock(trees->mutex);
    silent_changes = trees->silent_changes;
    changed = silent_changes != trees->silent_changes_seen;
    families = trees->families.size();
    for (const auto& family : trees->families) {
      files += family.second.bits.files();
    }
  }
  if (families != 0 && !changed && ++trees->events * kFilesPerEvent < files) {
    return false;
  }
  std::vector<rocksdb::ColumnFamilyMetaData> all;
  db->GetAllColumnFamilyMetaData(&all);
  // Tables from before the database was opened: their properties are in memory
  // if all files are open. Without a handle, which a listener has not got,
  // RocksDB returns only those of the default column family.
  rocksdb::TablePropertiesCollection properties;
  if (families == 0 && db->GetDBOptions().max_open_files == -1) {
    db->GetPropertiesOfAllTables(&properties).PermitUncheckedError();
  }
  ReadLimits(db, &trees->options_file, &trees->limits);
  const std::lock_guard<std::mutex> lock(trees->mutex);
  trees->events = 0;
  trees->silent_changes_seen = silent_changes;
  std::map<std::string, FamilyTree> kept;
  for (const rocksdb::ColumnFamilyMetaData& metadata : all) {
    FamilyTree& family = kept[metadata.name];
    const auto before = trees->families.find(metadata.name);
    if (before != trees->families.end()) family = std::move(before->second);
    if (metadata.name == rocksdb::kDefaultColumnFamilyName) {
      LearnTables(properties, &family.bits);
    }
    std::vector<LiveTable> tables;
    double bytes = 0;
    for (const auto& level : metadata.levels) {
      bytes += static_cast<double>(level.size);
      for (const auto& file : level.files) {
        tables.push_back({file.file_number, level.level, file.num_entries});
      }
    }
    family.bits.SetTree(tables);
    const auto limits = trees->limits.find(metadata.name);
    family.bits.SetLimits(
        limits == trees->limits.end() || bytes == 0
            ? TreeLimits()
            : limits->second.InKeys(family.bits.keys() / bytes));
  }
  trees->families = std::move(kept);
  return true;
}

FamilyTree* FindFamily(DatabaseTrees* trees, const std::string& name) {
  const auto it = trees->families.find(name);
  return it == trees->families.end() ? nullptr : &it->second;
}

// Creating a column family has no event.
void ExpectFamily(DatabaseTrees* trees, const std::string& name) {
  const std::lock_guard<std::mutex> lock(trees->mutex);
  if (FindFamily(trees, name) == nullptr) ++trees->silent_changes;
}

void ApplyEdit(DB* db, const std::string& family_name,
               const std::vector<uint64_t>& removed,
               const std::vector<LiveTable>& added) {
  const auto trees = TreesOf(db);
  const std::lock_guard<std::mutex> order(trees->order);
  ExpectFamily(trees.get(), family_name);
  if (Refresh(db, trees.get())) return;
  const std::lock_guard<std::mutex> lock(trees->mutex);
  ApplySilentChanges(trees.get());
  FamilyTree* const family = FindFamily(trees.get(), family_name);
  if (family == nullptr) return;
  family->bits.Edit(removed, added);
}

// Called before a table is written: reads what is not known yet, or no longer.
void EnsureKnown(DB* db, const std::string& family_name) {
  const auto trees = TreesOf(db);
  {
    const std::lock_guard<std::mutex> lock(trees->mutex);
    if (FindFamily(trees.get(), family_name) != nullptr &&
        trees->silent_changes == trees->silent_changes_seen) {
      return;
    }
  }
  const std::lock_guard<std::mutex> order(trees->order);
  ExpectFamily(trees.get(), family_name);
  Refresh(db, trees.get());
}

}  // namespace

void TreeListener::OnFlushBegin(DB* db, const rocksdb::FlushJobInfo& info) {
  WithoutThrowing([&] { EnsureKnown(db, info.cf_name); });
}

void TreeListener::OnFlushCompleted(DB* db, const rocksdb::FlushJobInfo& info) {
  WithoutThrowing([&] {
    ApplyEdit(db, info.cf_name, {},
              {{info.file_number, 0, info.table_properties.num_entries}});
  });
}

void TreeListener::OnCompactionBegin(DB* db,
                                     const rocksdb::CompactionJobInfo& info) {
  WithoutThrowing([&] {
    EnsureKnown(db, info.cf_name);
    const auto trees = TreesOf(db);
    const std::lock_guard<std::mutex> lock(trees->mutex);
    FamilyTree* const family = FindFamily(trees.get(), info.cf_name);
    if (family == nullptr) return;
    LearnTables(info.table_properties, &family->bits);
    CompactionJob& job = trees->jobs[info.job_id];
    job = CompactionJob();
    job.output_level = info.output_level;
    for (const CompactionFileInfo& file : info.input_file_infos) {
      const auto keys =
          static_cast<double>(family->bits.KeysOf(file.file_number));
      job.keys_read += keys;
      job.inputs.push_back(file.file_number);
      if (file.level != info.output_level) job.keys_from_above += keys;
    }
  });
}

void TreeListener::OnCompactionCompleted(
    DB* db, const rocksdb::CompactionJobInfo& info) {
  WithoutThrowing([&] {
    std::vector<uint64_t> removed;
    for (const CompactionFileInfo& file : info.input_file_infos) {
      removed.push_back(file.file_number);
    }
    std::vector<LiveTable> added;
    for (const CompactionFileInfo& file : info.output_file_infos) {
      added.push_back({file.file_number, file.level, 0});
    }
    if (info.status.ok()) ApplyEdit(db, info.cf_name, removed, added);
    const auto trees = TreesOf(db);
    const std::lock_guard<std::mutex> lock(trees->mutex);
    trees->jobs.erase(info.job_id);
  });
}

void TreeListener::OnExternalFileIngested(
    DB* db, const rocksdb::ExternalFileIngestionInfo& info) {
  WithoutThrowing([&] {
    const auto trees = TreesOf(db);
    const std::lock_guard<std::mutex> order(trees->order);
    {
      const std::lock_guard<std::mutex> lock(trees->mutex);
      FamilyTree* const family = FindFamily(trees.get(), info.cf_name);
      const uint64_t file = FileNumber(info.internal_file_path);
      if (family != nullptr && file != 0) {
        family->bits.Learn(file,
                           FactsOf(info.table_properties, kUnknownOrigin));
      }
      ++trees->silent_changes;  // the event does not say the level
    }
    Refresh(db, trees.get());
  });
}

void TreeListener::OnTableFileCreationStarted(
    const rocksdb::TableFileCreationBriefInfo& info) {
  WithoutThrowing([&] {
    AnnounceTable(
        {info.cf_name, info.file_path, info.job_id, FindTrees(info.db_name)});
  });
}

void TreeListener::OnTableFileCreated(
    const rocksdb::TableFileCreationInfo& info) {
  // Before the table is read: its comparator may not have been checked.
  if (info.table_properties.prefix_extractor_name == kRangeExtractorName &&
      !IsBytewiseName(info.table_properties.comparator_name)) {
    StopRanges();
  }
  WithoutThrowing([&] {
    const auto trees = FindTrees(info.db_name);
    const uint64_t file = FileNumber(info.file_path);
    if (trees == nullptr || file == 0) return;
    const std::lock_guard<std::mutex> lock(trees->mutex);
    WrittenAs as;
    bool known = false;
    const auto it = trees->origins.find(info.file_path);
    if (it != trees->origins.end()) {
      known = true;
      as = it->second;
      trees->origins.erase(it);
    }
    FamilyTree* const family = FindFamily(trees.get(), info.cf_name);
    if (family == nullptr || !info.status.ok()) return;
    const TableFacts facts = FactsOf(info.table_properties, as.origin);
    family->bits.Learn(file, facts);
    if (info.reason == rocksdb::TableFileCreationReason::kFlush) {
      family->bits.Flushed(facts.keys);
    } else if (info.reason == rocksdb::TableFileCreationReason::kCompaction &&
               trees->jobs.count(info.job_id) == 0) {
      ++trees->silent_changes;
      if (known) trees->unannounced[file] = {info.cf_name, as.level};
    }
  });
}

void TreeListener::OnTableFileDeleted(
    const rocksdb::TableFileDeletionInfo& info) {
  WithoutThrowing([&] {
    const auto trees = FindTrees(info.db_name);
    if (trees == nullptr) return;
    const uint64_t file = FileNumber(info.file_path);
    const std::lock_guard<std::mutex> lock(trees->mutex);
    trees->origins.erase(info.file_path);
    trees->unannounced.erase(file);
    for (auto& entry : trees->families) {
      FamilyTree& family = entry.second;
      if (!family.bits.HasInTree(file)) {
        family.bits.Forget(file);
        continue;
      }
      ++trees->silent_changes;
      family.silently_deleted.push_back(file);
    }
  });
}

// The handle of the default column family is deleted when the database is
// closed.
void TreeListener::OnColumnFamilyHandleDeletionStarted(
    rocksdb::ColumnFamilyHandle* handle) {
  WithoutThrowing([&] { ForgetTrees(handle); });
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
