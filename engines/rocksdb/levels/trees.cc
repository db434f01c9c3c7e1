#include "engines/rocksdb/levels/trees.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "engines/rocksdb/base/errors.h"
#include "engines/rocksdb/base/options.h"
#include "engines/rocksdb/base/options_file.h"
#include "engines/rocksdb/base/process.h"
#include "engines/rocksdb/levels/full_tree.h"
#include "engines/rocksdb/levels/tree_bits.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/metadata.h"
#include "rocksdb/utilities/options_util.h"
#include "util/json.h"

namespace deltabloom::internal {
namespace {

using rocksdb::DB;

// The size of a key and its value until the first table of a database is known.
// It counts as one key in the average of tables that are known, so it hardly
// matters from the first flush on. Until then all runs are wrong by the same
// factor, which changes no ratio of their sizes.
constexpr double kBytesPerKey = 40;

}  // namespace

std::shared_ptr<DatabaseTrees> TreesOf(Process* process,
                                       const std::string& name,
                                       const void* default_family) {
  const auto databases = process->databases.Lock();
  std::shared_ptr<DatabaseTrees>& trees = databases->trees[name];
  if (trees == nullptr || trees->default_family != default_family) {
    trees = std::make_shared<DatabaseTrees>();
    trees->default_family = default_family;
  }
  return trees;
}

std::shared_ptr<DatabaseTrees> FindTrees(Process* process,
                                         const std::string& name) {
  const auto databases = process->databases.Lock();
  const auto it = databases->trees.find(name);
  return it == databases->trees.end() ? nullptr : it->second;
}

void ForgetTrees(Process* process, const void* default_family) {
  const auto databases = process->databases.Lock();
  auto& trees = databases->trees;
  for (auto it = trees.begin(); it != trees.end(); ++it) {
    if (it->second->default_family != default_family) continue;
    trees.erase(it);
    return;
  }
}

std::map<std::string, std::shared_ptr<DatabaseTrees>> AllTrees(
    Process* process) {
  return process->databases.Lock()->trees;
}

void AnnounceTable(Process* process, TableAnnouncement table) {
  process->databases.Lock()->announced.insert_or_assign(
      std::this_thread::get_id(), std::move(table));
}

void DropAnnouncement(Process* process) {
  process->databases.Lock()->announced.erase(std::this_thread::get_id());
}

std::optional<TableAnnouncement> TakeAnnouncement(Process* process,
                                                  const std::string& family) {
  const auto table =
      process->databases.Lock()->announced.extract(std::this_thread::get_id());
  if (!table || table.mapped().family != family) return std::nullopt;
  return std::move(table.mapped());
}

LimitsByFamily ParseLimits(std::string_view options) {
  LimitsByFamily all;
  ForEachOption(options, [&](const OptionsLine& line) {
    if (line.family.empty()) return;
    TreeLimits& limits = all[line.family];
    if (line.name == "filter_policy") {
      limits.filters = line.value != "nullptr";
    }
    if (line.section != "CFOptions") return;
    const std::pair<const char*, double*> numbers[] = {
        {"level0_file_num_compaction_trigger", &limits.level0_files},
        {"max_bytes_for_level_base", &limits.base},
        {"max_bytes_for_level_multiplier", &limits.ratio}};
    for (const auto& [name, number] : numbers) {
      if (line.name == name && !ParseNumber(line.value, number)) *number = 0;
    }
    if (line.name == "level_compaction_dynamic_level_bytes") {
      limits.dynamic = line.value == "true";
    }
    if ((line.name == "compaction_style" &&
         line.value != "kCompactionStyleLevel") ||
        (line.name == "disable_auto_compactions" && line.value != "false")) {
      limits.kept = false;
    }
  });
  return all;
}

namespace {

// Reads the limits from the database's newest OPTIONS file, unless that is the
// file *file, which was read before. DB::GetOptions is no help: it needs the
// handles of column families, which a listener does not have.
void ReadLimits(DB* db, std::string* file, LimitsByFamily* limits) {
  std::string newest;
  std::string text;
  if (!rocksdb::GetLatestOptionsFileName(db->GetName(), db->GetEnv(), &newest)
           .ok() ||
      newest == *file) {
    return;
  }
  // If the file was replaced meanwhile, the next call reads the newer one.
  const std::string path = db->GetName() + "/" + newest;
  if (!rocksdb::ReadFileToString(db->GetEnv(), path, &text).ok()) return;
  *limits = ParseLimits(text);
  *file = newest;
}

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

std::shared_ptr<DatabaseTrees> TreesOfDB(Process* process, DB* db) {
  return TreesOf(process, db->GetName(), db->DefaultColumnFamily());
}

// Returns null if the column family is not known.
FamilyTree* FindFamily(DatabaseTrees* trees, const std::string& name) {
  const auto it = trees->families.find(name);
  return it == trees->families.end() ? nullptr : &it->second;
}

// Calls fn(file, level) for each table of a column family.
template <typename Fn>
void ForEachTable(const rocksdb::ColumnFamilyMetaData& metadata, Fn fn) {
  for (const auto& level : metadata.levels) {
    for (const auto& file : level.files) fn(file, level.level);
  }
}

// Counts an event. Returns true if the trees must be read from RocksDB instead
// of being changed by the event; the caller then does so.
//
// RocksDB copies the names and keys of all files under its mutex when the trees
// are read from it. So they are read again only after as many events as there
// are files, which costs a constant time per event; in between, events keep
// them up to date.
bool ReadIsDue(const std::string& family_name, DatabaseTrees* trees) {
  const std::lock_guard<std::mutex> lock(trees->mutex);
  size_t files = 0;
  for (const auto& [name, family] : trees->families) {
    files += family.tree.files();
  }
  ++trees->events;
  // Creating a column family has no event.
  const bool is_new = FindFamily(trees, family_name) == nullptr;
  return std::exchange(trees->changed_silently, false) || is_new ||
         trees->events >= files;
}

// Sums over tables whose keys are known, for the average bytes of a key and its
// value.
struct KeySize {
  double bytes;
  double keys;

  double Average() const { return bytes / keys; }
};

// Returns `size` with the tables of a column family added. For tables that
// RocksDB has not opened it reports 0 keys.
KeySize SizeWith(const rocksdb::ColumnFamilyMetaData& metadata,
                 const TreeBits& tree, KeySize size) {
  ForEachTable(metadata, [&](const auto& file, int) {
    const TableFacts facts = tree.Find(file.file_number).facts;
    const uint64_t n = facts.filter_bits < 0 ? file.num_entries : facts.keys;
    if (n > 0) size.bytes += static_cast<double>(file.size);
    size.keys += static_cast<double>(n);
  });
  return size;
}

// Replaces the tree of a column family by what RocksDB reports. The keys of
// tables that RocksDB has not opened are estimated from their bytes. The limits
// are given in bytes, and stored in keys.
void TakeTables(const rocksdb::ColumnFamilyMetaData& metadata,
                double bytes_per_key, TreeLimits limits, FamilyTree* family) {
  std::vector<LiveTable> tables;
  double bytes = 0;
  ForEachTable(metadata, [&](const auto& file, int level) {
    const auto size = static_cast<double>(file.size);
    bytes += size;
    uint64_t n = file.num_entries;
    if (n == 0) n = static_cast<uint64_t>(size / bytes_per_key);
    tables.push_back({file.file_number, level, n});
  });
  family->tree.SetTree(tables);
  family->deleted.clear();
  limits.base *= family->tree.keys() / std::max(bytes, 1.0);  // in keys
  family->tree.SetLimits(limits);
}

// Forgets compactions whose tables are in the tree: they have ended.
void ForgetEndedJobs(const TreeBits& tree, DatabaseTrees* trees) {
  for (auto job = trees->jobs.begin(); job != trees->jobs.end();) {
    const bool ended = tree.Find(job->second.last_output).level >= 0;
    job = ended ? trees->jobs.erase(job) : std::next(job);
  }
}

// Reads the trees of all column families from RocksDB, and forgets column
// families that were dropped. REQUIRES: trees->order is held.
void ReadAll(DB* db, DatabaseTrees* trees) {
  std::vector<rocksdb::ColumnFamilyMetaData> all;
  db->GetAllColumnFamilyMetaData(&all);
  ReadLimits(db, &trees->options_file, &trees->limits);
  const std::lock_guard<std::mutex> lock(trees->mutex);
  trees->events = 0;
  KeySize of_database = {kBytesPerKey, 1};
  for (const rocksdb::ColumnFamilyMetaData& metadata : all) {
    of_database =
        SizeWith(metadata, trees->families[metadata.name].tree, of_database);
  }
  std::map<std::string, FamilyTree> kept;
  for (const rocksdb::ColumnFamilyMetaData& metadata : all) {
    FamilyTree& family = kept[metadata.name];
    family = std::move(trees->families[metadata.name]);
    // If nothing is known of the family, its keys are as large as those of the
    // database.
    const KeySize of_family =
        SizeWith(metadata, family.tree, {of_database.Average(), 1});
    TakeTables(metadata, of_family.Average(), trees->limits[metadata.name],
               &family);
    ForgetEndedJobs(family.tree, trees);
  }
  trees->families = std::move(kept);
}

// Brings a tree up to date, after an event or before a table is written: by the
// change that the event reports, or by reading all trees from RocksDB if they
// are not known yet, or may be wrong.
void Update(DB* db, DatabaseTrees* trees, const std::string& family_name,
            const std::vector<uint64_t>& removed = {},
            const std::vector<LiveTable>& added = {}) {
  const std::lock_guard<std::mutex> order(trees->order);
  if (ReadIsDue(family_name, trees)) return ReadAll(db, trees);
  if (removed.empty() && added.empty()) return;
  const std::lock_guard<std::mutex> lock(trees->mutex);
  FamilyTree* const family = FindFamily(trees, family_name);
  if (family != nullptr) family->tree.Edit(removed, added);
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
void ForgetFailedJob(uint64_t deleted, DatabaseTrees* trees) {
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
      Update(db, trees.get(), info.cf_name);
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
      Update(db, TreesOfDB(process_, db).get(), info.cf_name, {},
             {{info.file_number, 0, info.table_properties.num_entries}});
    });
  }

  void OnCompactionBegin(DB* db,
                         const rocksdb::CompactionJobInfo& info) override {
    WithoutThrowing([&] {
      const auto trees = TreesOfDB(process_, db);
      Update(db, trees.get(), info.cf_name);
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
        Update(db, trees.get(), info.cf_name, removed, added);
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
      Update(db, trees.get(), info.cf_name);
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
      if (trees == nullptr) return;
      const uint64_t file = FileNumber(info.file_path);
      const std::lock_guard<std::mutex> lock(trees->mutex);
      trees->origins.erase(info.file_path);
      ForgetFailedJob(file, trees.get());
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

void ReadTree(Process* process, DB* db) {
  const auto trees = TreesOfDB(process, db);
  {
    const std::lock_guard<std::mutex> lock(trees->mutex);
    trees->changed_silently = true;
  }
  Update(db, trees.get(), rocksdb::kDefaultColumnFamilyName);
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
