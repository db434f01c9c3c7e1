#include "tools/deltabloom/database.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "engines/rocksdb/ranges/property.h"
#include "table/sst/sst.h"
#include "tools/deltabloom/doctor.h"
#include "tools/deltabloom/filter_use.h"
#include "tools/deltabloom/manifest.h"
#include "tools/deltabloom/options_file.h"
#include "tools/deltabloom/reads.h"
#include "tools/deltabloom/table_files.h"
#include "tools/program/console.h"

namespace deltabloom::tools {
namespace {

// Adds a table, with its level from the MANIFEST, null if that is not known.
// Returns what went wrong; nothing if the table is gone.
std::string AddTable(const TableFile& file, const Manifest* manifest,
                     Database* database) {
  const std::string error =
      ReadTable(file.path, [&](const internal::SstSource& source) {
        internal::SstFile sst;
        Check(internal::FindFilters(source, &sst));
        DatabaseTable table;
        table.is_leveldb = sst.format_version == 0 && sst.properties.empty();
        table.family = TextOf(sst, "rocksdb.column.family.name");
        if (manifest != nullptr) {
          const LiveTable& live =
              manifest->tables().at(NumberOfName(file.path));
          table.level = static_cast<int>(std::min(live.level, 1000u));
          table.family = manifest->FamilyName(live.family);
          table.first_key = live.first_key;
          table.last_key = live.last_key;
        }
        table.comparator = TextOf(sst, "rocksdb.comparator");
        const auto verdict = database->verdicts.find(table.family);
        table.use = FindFilterUse(source, sst,
                                  verdict == database->verdicts.end()
                                      ? nullptr
                                      : verdict->second.reader.get());
        table.bytes = source.Size();
        table.entries = NumberOf(sst, "rocksdb.num.entries");
        table.written = NumberOf(sst, "rocksdb.file.creation.time");
        if (table.written == 0) {
          table.written = NumberOf(sst, "rocksdb.creation.time");
        }
        table.filter_keys = FilterKeysOf(sst);
        for (const internal::SstFilter& filter : sst.filters) {
          table.filter_bytes += filter.bytes;
          table.filter_partitions += filter.partitions;
          table.compatibility_name = filter.policy;
        }
        table.index_bytes = NumberOf(sst, "rocksdb.index.size");
        table.data_bytes = NumberOf(sst, "rocksdb.data.size");
        table.data_blocks = NumberOf(sst, "rocksdb.num.data.blocks");
        std::string_view range_filter;
        sst.properties.Text(internal::kRangePropertyName, &range_filter);
        table.range_filter_bytes = range_filter.size();
        database->tables.push_back(std::move(table));
      });
  if (error.empty() || !IsGone(file)) return error;
  ++database->gone;
  return {};
}

void AddTables(const std::vector<TableFile>& files, const Manifest* manifest,
               Console* console, Database* database) {
  std::vector<std::pair<TableFile, uint64_t>> again;
  for (size_t i = 0; i < files.size(); ++i) {
    const TableFile& file = files[i];
    if (file.is_empty) continue;
    if (!file.from_directory) {
      database->problems.push_back(
          file.error.empty() ? file.path + ": is not a directory" : file.error);
      continue;
    }
    if (manifest != nullptr &&
        manifest->tables().count(NumberOfName(file.path)) == 0) {
      ++database->unused;
      continue;
    }
    console->ShowProgress(i, files.size(), "files", file.path);
    const uint64_t size = file.Size();
    if (!AddTable(file, manifest, database).empty()) {
      again.emplace_back(file, size);
    }
  }
  if (again.empty()) return;
  // Tables that a running database is writing have no end yet, and grow.
  std::this_thread::sleep_for(std::chrono::seconds(1));
  for (const auto& [file, size] : again) {
    const std::string error = AddTable(file, manifest, database);
    if (error.empty()) continue;
    if (file.Size() != size) {
      ++database->unfinished;
    } else {
      database->problems.push_back(error);
    }
  }
}

// The tables of the MANIFEST that are not among the files: those that were
// written since these were listed, and those that are not in the directory. A
// newer state of the MANIFEST shows which compactions have just removed.
void AddUnlisted(const std::vector<TableFile>& files, const Manifest& manifest,
                 Database* database) {
  std::set<uint64_t> missing;
  for (const auto& [number, table] : manifest.tables()) missing.insert(number);
  for (const TableFile& file : files) missing.erase(NumberOfName(file.path));
  if (missing.empty()) return;
  Manifest now;
  const std::string problem = ReadManifest(database->path, &now);
  if (!problem.empty()) {
    database->problems.push_back(problem);
    return;
  }
  for (const uint64_t number : missing) {
    if (now.tables().count(number) == 0) {
      ++database->gone;
      continue;
    }
    const std::vector<std::string> found = FindTable({database->path}, number);
    if (found.empty()) {
      ++database->elsewhere;
      continue;
    }
    const std::string error = AddTable({found[0], true}, &manifest, database);
    if (!error.empty()) database->problems.push_back(error);
  }
}

void SetShares(std::vector<DatabaseTable>* tables) {
  std::map<std::string, std::vector<DatabaseTable*>> families;
  for (DatabaseTable& table : *tables) {
    if (table.level >= 0) families[table.family].push_back(&table);
  }
  for (const auto& [name, of_family] : families) {
    std::vector<TableInTree> tree;
    for (const DatabaseTable* table : of_family) {
      tree.push_back({table->level, static_cast<double>(table->filter_keys),
                      table->first_key, table->last_key});
    }
    const std::vector<double> shares =
        SharesOfLookups(tree, IsBytewise(of_family[0]->comparator));
    for (size_t i = 0; i < shares.size(); ++i) {
      of_family[i]->share_of_lookups = shares[i];
    }
  }
}

}  // namespace

Database ReadDatabase(const std::string& path, Console* console) {
  Database database;
  database.path = path;
  std::string problem = ReadNewestOptionsFile(path, &database.options);
  database.listed = problem.empty() || !database.options.name.empty();
  if (!problem.empty()) database.problems.push_back(problem);
  if (!database.listed) return database;
#ifdef DELTABLOOM_TOOLS_ROCKSDB
  for (const FamilyOptions& family : database.options.families) {
    if (!family.BlockBased() || !family.NamesPolicy()) continue;
    database.verdicts[family.name] = JudgePolicy(family);
  }
#endif
  // A table that was listed before the MANIFEST is read, and is not in it, is
  // no longer used, or not yet.
  const std::vector<TableFile> files = TableFiles({path});
  Manifest manifest;
  problem = ReadManifest(path, &manifest);
  const bool known = problem.empty();
  if (!known) database.problems.push_back(problem);
  AddTables(files, known ? &manifest : nullptr, console, &database);
  if (known) AddUnlisted(files, manifest, &database);
  SetShares(&database.tables);
  return database;
}

}  // namespace deltabloom::tools
