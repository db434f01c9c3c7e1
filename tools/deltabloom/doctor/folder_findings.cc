// Finds what the directory of a database is, and what could not be examined.
#include <algorithm>
#include <string>

#include "tools/deltabloom/database/options_file.h"
#include "tools/deltabloom/doctor/findings.h"
#include "tools/deltabloom/doctor/report.h"
#include "tools/program/console.h"

namespace deltabloom::tools {
namespace {

void NoDatabase(const DatabaseReport& database, Findings* findings) {
  findings->Add(
      Severity::kUnknown, "no_database",
      database.path + ": no database: it has no file CURRENT" +
          (database.unknown_files > 0
               ? ", and no file (*.sst, *.ldb) that is a table of RocksDB or "
                 "LevelDB"
               : ", no OPTIONS file and no table"),
      "name the directory that has the file CURRENT");
}

void Unreadable(const DatabaseReport& database, Findings* findings) {
  const bool foreign = database.unknown_files > 0;
  if (foreign) {
    findings->Add(
        Severity::kUnknown, "unknown_files",
        database.path + ": none of " +
            Count(database.unknown_files, "file", "files") +
            " (*.sst, *.ldb) ends like a table of RocksDB or LevelDB: "
            "encrypted, or not RocksDB's",
        "files that a program encrypts can be examined by that program only, "
        "by the tickers rocksdb.bloom.filter.* and the property "
        "rocksdb.aggregated-table-properties");
  }
  for (const std::string& problem : database.problems) {
    findings->Add(Severity::kUnknown, "unreadable", problem,
                  foreign
                      ? "see the files that are encrypted, or not RocksDB's"
                      : "check that this is the database's directory and that "
                        "this user may read it; restore a damaged file from a "
                        "backup");
  }
}

}  // namespace

void FindInFolder(const DatabaseReport& database, Findings* findings) {
  if (database.is_none && database.tables.empty()) {
    NoDatabase(database, findings);
    return;
  }
  Unreadable(database, findings);
  if (database.listed && database.options.name.empty()) {
    findings->Add(
        Severity::kUnknown, "no_options_file",
        database.path +
            (database.is_leveldb
                 ? ": a database of LevelDB, which stores no options: "
                   "whether programs use the filters is not known"
                 : ": has no OPTIONS file, so the policy it was last opened "
                   "with is not known"),
        database.is_leveldb
            ? "a program of LevelDB uses those filters whose name, as "
              "deltabloom inspect shows it, is that of its filter_policy"
            : "pass the directory that has the file CURRENT, and copy the "
              "OPTIONS file with it");
  }
  if (database.options.IsOfLaterRocksDB()) {
    findings->Add(
        Severity::kNote, "later_rocksdb",
        database.path + ": was last opened by RocksDB " +
            database.options.rocksdb_version +
            ", which is later than those that this Deltabloom knows, up to " +
            LastKnownRocksDB(),
        "what is said here may be wrong: take a Deltabloom for it");
  }
  const bool is_known = std::any_of(
      database.options.families.begin(), database.options.families.end(),
      [](const FamilyOptions& family) { return !family.BlockBased(); });
  if (database.not_block_based > 0 && !is_known) {
    findings->Add(
        Severity::kNote, "not_block_based",
        database.path + ": " +
            Count(database.not_block_based, "table is", "tables are") +
            " of PlainTable or CuckooTable, which have no such filters");
  }
  if (database.elsewhere > 0) {
    findings->Add(
        Severity::kUnknown, "tables_elsewhere",
        database.path + ": " + Count(database.elsewhere, "table", "tables") +
            " not in this directory",
        "if they are in other directories (db_paths, cf_paths), name these "
        "by --path; otherwise they are lost");
  }
}

}  // namespace deltabloom::tools
