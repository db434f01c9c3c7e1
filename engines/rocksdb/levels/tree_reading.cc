#include "engines/rocksdb/levels/tree_reading.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "engines/rocksdb/base/process.h"
#include "engines/rocksdb/levels/full_tree.h"
#include "engines/rocksdb/levels/limits.h"
#include "engines/rocksdb/levels/tree_files.h"
#include "engines/rocksdb/levels/trees.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/metadata.h"
#include "rocksdb/utilities/options_util.h"

namespace deltabloom::internal {
namespace {

using rocksdb::DB;

// The size of a key and its value until the first table of a database is known.
// It counts as one key in the average of tables that are known, so it hardly
// matters from the first flush on. Until then all runs are wrong by the same
// factor, which changes no ratio of their sizes.
constexpr double kBytesPerKey = 40;

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

}  // namespace

std::shared_ptr<DatabaseTrees> TreesOfDB(Process* process, rocksdb::DB* db) {
  return TreesOf(process, db->GetName(), db->DefaultColumnFamily());
}

FamilyTree* FindFamily(DatabaseTrees* trees, const std::string& name) {
  const auto it = trees->families.find(name);
  return it == trees->families.end() ? nullptr : &it->second;
}

void UpdateTree(DB* db, DatabaseTrees* trees, const std::string& family_name,
                const std::vector<uint64_t>& removed,
                const std::vector<LiveTable>& added) {
  const std::lock_guard<std::mutex> order(trees->order);
  if (ReadIsDue(family_name, trees)) return ReadAll(db, trees);
  if (removed.empty() && added.empty()) return;
  const std::lock_guard<std::mutex> lock(trees->mutex);
  FamilyTree* const family = FindFamily(trees, family_name);
  if (family != nullptr) family->tree.Edit(removed, added);
}

void ReadTrees(Process* process, DB* db) {
  const auto trees = TreesOfDB(process, db);
  {
    const std::lock_guard<std::mutex> lock(trees->mutex);
    trees->changed_silently = true;
  }
  UpdateTree(db, trees.get(), rocksdb::kDefaultColumnFamilyName);
}

}  // namespace deltabloom::internal
