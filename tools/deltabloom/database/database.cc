#include "tools/deltabloom/database/database.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "engines/rocksdb/ranges/property.h"
#include "tools/deltabloom/database/filter_use.h"
#include "tools/deltabloom/database/manifest.h"
#include "tools/deltabloom/database/options_file.h"
#include "tools/deltabloom/database/policy_verdict.h"
#include "tools/deltabloom/database/reads.h"
#include "tools/deltabloom/tables/read_table.h"
#include "tools/deltabloom/tables/table_files.h"
#include "tools/program/console.h"
#include "tools/sst/sst.h"

namespace deltabloom::tools {
namespace {

namespace fs = std::filesystem;

// Adds a table, with its level from the MANIFEST, which is null if it could not
// be read; the level then is not known.
// Returns what went wrong; nothing if the table is gone. *kind is what the
// file is.
std::string AddTable(const TableFile& file, const Manifest* manifest,
                     Database* database, internal::TableKind* kind) {
  const std::string error =
      ReadTable(file.path, [&](const internal::SstSource& source) {
        internal::SstFile sst;
        const std::string wrong = internal::FindFilters(source, &sst);
        *kind = sst.kind;
        Check(wrong);
        DatabaseTable table;
        table.is_leveldb = sst.format_version == 0 && sst.properties.empty();
        table.family = TextOf(sst, "rocksdb.column.family.name");
        if (manifest != nullptr) {
          const LiveTable& live =
              manifest->tables().at(NumberOfName(file.path));
          table.level = static_cast<int>(std::min(live.level, 1000u));
          table.family = manifest->FamilyName(live.family);
          table.has_checksum = live.has_checksum;
          table.first_key = live.first_key;
          table.last_key = live.last_key;
        }
        table.bytewise = IsBytewise(TextOf(sst, "rocksdb.comparator"));
        const PolicyVerdict verdict = database->VerdictOf(table.family);
        table.use = FindFilterUse(source, sst, verdict.reader.get());
        table.bytes = source.Size();
        table.entries = NumberOf(sst, "rocksdb.num.entries");
        table.written = NumberOf(sst, "rocksdb.file.creation.time");
        if (table.written == 0) {
          table.written = NumberOf(sst, "rocksdb.creation.time");
        }
        table.filter_keys = FilterKeysOf(sst);
        table.counts_filter_keys =
            NumberOf(sst, "rocksdb.num.filter_entries") > 0;
        table.only_prefixes =
            TextOf(sst, "rocksdb.block.based.table.whole.key.filtering") == "0";
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

bool IsNotBlockBased(internal::TableKind kind) {
  return kind == internal::TableKind::kPlain ||
         kind == internal::TableKind::kCuckoo;
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
    internal::TableKind kind = internal::TableKind::kUnknown;
    if (AddTable(file, manifest, database, &kind).empty()) continue;
    if (IsNotBlockBased(kind)) {
      ++database->not_block_based;
    } else {
      again.emplace_back(file, size);
    }
  }
  if (again.empty()) return;
  // Tables that a running database is writing have no end yet, and grow.
  std::this_thread::sleep_for(std::chrono::seconds(1));
  std::vector<std::string> errors;
  bool any_known = !database->tables.empty() || database->not_block_based > 0;
  for (const auto& [file, size] : again) {
    internal::TableKind kind = internal::TableKind::kUnknown;
    const std::string error = AddTable(file, manifest, database, &kind);
    any_known = any_known || kind != internal::TableKind::kUnknown;
    if (error.empty()) continue;
    if (file.Size() != size) {
      ++database->unfinished;
    } else {
      errors.push_back(error);
    }
  }
  if (!any_known) database->unknown_files = errors.size();
  database->problems.insert(database->problems.end(), errors.begin(),
                            errors.end());
}

// Adds the tables of the MANIFEST that are not among the files. They were
// written after the files were listed, or are in another directory, or a
// compaction has just removed them, which a newer state of the MANIFEST shows.
void AddUnlisted(const std::vector<TableFile>& files, const Manifest& manifest,
                 const std::vector<std::string>& directories,
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
    const std::vector<std::string> found = FindTable(directories, number);
    if (found.empty()) {
      ++database->elsewhere;
      continue;
    }
    internal::TableKind ignored;
    const std::string error =
        AddTable({found[0], true}, &manifest, database, &ignored);
    if (!error.empty()) database->problems.push_back(error);
  }
}

// The first and last keys of tables of one level, which do not overlap, by the
// first; empty keys of a comparator whose order is not known.
using KeyRanges = std::map<std::string_view, std::string_view>;

std::pair<std::string_view, std::string_view> RangeOf(
    const DatabaseTable& table) {
  // With a reverse comparator the last key is the least.
  return std::minmax(std::string_view(table.first_key),
                     std::string_view(table.last_key));
}

bool Overlap(const KeyRanges& ranges, const DatabaseTable& table) {
  if (!table.bytewise) return !ranges.empty();
  const auto [first, last] = RangeOf(table);
  const auto after = ranges.upper_bound(last);
  return after != ranges.begin() && std::prev(after)->second >= first;
}

// With optimize_filters_for_hits, or a policy with less than 0.5 bits_per_key,
// no filter is built where a compaction finds nothing older below. With
// optimize_filters_for_hits RocksDB also ignores the filters of the last level,
// unless that is level 0.
void ApplyNoneInLastLevel(Database* database) {
  for (const FamilyOptions& family : database->options.families) {
    if (!family.optimize_filters_for_hits &&
        database->VerdictOf(family.name).builds_in_last_level) {
      continue;
    }
    std::map<int, KeyRanges> levels;
    for (const DatabaseTable& table : database->tables) {
      if (table.family == family.name && table.level >= 0) {
        levels[table.level].insert(RangeOf(table));
      }
    }
    for (DatabaseTable& table : database->tables) {
      if (table.family != family.name || table.level < 0) continue;
      const auto below = levels.upper_bound(table.level);
      if (table.use.kind.empty()) {
        table.needs_no_filter = std::none_of(
            below, levels.end(),
            [&](const auto& level) { return Overlap(level.second, table); });
      } else if (family.optimize_filters_for_hits && table.level > 0 &&
                 below == levels.end()) {
        table.needs_no_filter = true;
        table.use.used = false;
      }
    }
  }
}

// RocksDB without a policy asks no filter.
void ApplyNoPolicy(Database* database) {
  std::set<std::string> without;
  for (const FamilyOptions& family : database->options.families) {
    if (family.BlockBased() && family.policy == "nullptr") {
      without.insert(family.name);
    }
  }
  for (DatabaseTable& table : database->tables) {
    if (table.filter_bytes > 0 && without.count(table.family) > 0) {
      table.use.used = false;
    }
  }
}

// LevelDB has neither OPTIONS files nor a file IDENTITY.
bool IsLevelDB(const Database& database) {
  std::error_code unknown;
  return !database.is_none && database.options.name.empty() &&
         !fs::exists(fs::path(database.path) / "IDENTITY", unknown) &&
         std::all_of(
             database.tables.begin(), database.tables.end(),
             [](const DatabaseTable& table) { return table.is_leveldb; });
}

}  // namespace

PolicyVerdict Database::VerdictOf(const std::string& family) const {
  const auto found = verdicts.find(family);
  return found == verdicts.end() ? PolicyVerdict() : found->second;
}

Database ReadDatabase(const std::string& path,
                      const std::vector<std::string>& paths, Console* console) {
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
  const std::vector<std::string> directories = DirectoriesOf(path, paths);
  const std::vector<TableFile> files = TableFiles(directories);
  Manifest manifest;
  problem = ReadManifest(path, &manifest);
  const bool known = problem.empty();
  if (!known) database.problems.push_back(problem);
  AddTables(files, known ? &manifest : nullptr, console, &database);
  if (known) AddUnlisted(files, manifest, directories, &database);
  const std::vector<FamilyOptions>& families = database.options.families;
  if (known && std::all_of(families.begin(), families.end(),
                           [](const FamilyOptions& family) {
                             return family.BlockBased();
                           })) {
    database.unknown_files = 0;  // their tables are damaged
  }
  std::error_code unknown;
  database.is_none = database.options.name.empty() &&
                     !fs::exists(fs::path(path) / "CURRENT", unknown);
  database.is_leveldb = known && IsLevelDB(database);
  ApplyNoPolicy(&database);
  ApplyNoneInLastLevel(&database);
  SetShares(&database.tables);
  return database;
}

}  // namespace deltabloom::tools
