#include "tools/deltabloom/estimate/database.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tools/deltabloom/database/database.h"
#include "tools/deltabloom/database/log_statistics.h"
#include "tools/deltabloom/estimate/families.h"
#include "tools/deltabloom/estimate/model.h"
#include "tools/deltabloom/estimate/page.h"
#include "tools/deltabloom/estimate/show.h"
#include "tools/deltabloom/estimate/text.h"
#include "tools/program/console.h"

namespace deltabloom::tools {
namespace {

// Tables that compactions remove meanwhile are missing, so it is read again.
Database ReadAtOneTime(const std::string& path, Console* console) {
  constexpr int kTries = 3;
  for (int i = 1;; ++i) {
    Database database = ReadDatabase(path, {}, console);
    const bool whole = database.gone == 0 && database.unfinished == 0;
    if (whole || i == kTries) return database;
  }
}

// Throws if there is nothing to estimate.
void CheckDatabase(const Database& database) {
  for (const DatabaseTable& table : database.tables) {
    if (!table.is_leveldb) continue;
    throw std::runtime_error(
        database.path +
        ": has tables of LevelDB, and this command reads databases of "
        "RocksDB: see them with deltabloom inspect, and estimate a future "
        "database by --keys");
  }
  const bool has_levels =
      std::any_of(database.tables.begin(), database.tables.end(),
                  [](const DatabaseTable& table) { return table.level >= 0; });
  if (has_levels) return;
  if (!database.problems.empty()) {
    throw std::runtime_error(database.problems.front());
  }
  if (database.not_block_based > 0) {
    throw std::runtime_error(database.path +
                             ": has tables of PlainTable or CuckooTable only, "
                             "which have no such filters");
  }
  if (database.elsewhere == 0) {
    throw std::runtime_error(database.path +
                             ": has no tables yet: flush the database, or "
                             "estimate a future one by --keys");
  }
}

// Returns the trees and filters with which the page begins.
Json PageFamilies(const std::vector<Family>& families) {
  Json json = Json::array();
  for (const Family& family : families) {
    if (!(family.keys > 0)) continue;
    Json now;
    if (family.now.has_value()) {
      now = {{"reads", family.now->absent_reads}, {"bytes", family.now->bytes}};
    }
    const double bits = family.filters.back().bits_per_key;
    json.push_back({{"name", Escaped(family.name)},
                    {"keys", family.keys},
                    {"entry", family.bytes / family.keys},
                    {"bits", std::clamp(bits, 0.5, 100.0)},
                    {"tree", ToJson(family.tree)},
                    {"now", now}});
  }
  return json;
}

}  // namespace

ExitCode EstimateDatabase(const std::string& path, const Budget& budget,
                          const std::string& page, Console* console) {
  const Database database = ReadAtOneTime(path, console);
  CheckDatabase(database);
  std::vector<std::string> problems = database.problems;
  const auto missing = [&](uint64_t tables, const char* what) {
    if (tables == 0) return;
    problems.push_back(path + ": " + Count(tables, "table ", "tables ") + what);
  };
  missing(database.elsewhere,
          "not in this directory (db_paths, cf_paths): they are left out");
  missing(database.gone, "deleted meanwhile: run it again");
  missing(database.unfinished, "being written: run it again");
  LogStatistics statistics;
  const std::string log_problem = ReadLogStatistics(path, &statistics);
  if (!log_problem.empty()) problems.push_back(log_problem);
  for (const std::string& problem : problems) {
    console->Error("warning: " + problem);
  }

  std::vector<Family> families = FamiliesOf(database);
  std::optional<Total> total;
  if (budget.bytes > 0) total = FitTotal(budget.bytes, families);
  EstimateFamilies(budget, total, &families);
  if (!page.empty()) {
    const ExitCode written = WritePage(
        page, {}, 10,
        {{"database", Escaped(path)}, {"families", PageFamilies(families)}},
        console);
    if (written != kSuccess) return written;
  }
  console->Add("database", {{"path", path},
                            {"options_file", TextOrNull(database.options.name)},
                            {"rocksdb_version",
                             TextOrNull(database.options.rocksdb_version)}});
  console->Add("statistics", ToJson(statistics));
  console->Add("filter_memory", ToJson(total, budget));
  console->StartArray("column_families");
  console->Line(path + ": " +
                (database.options.name.empty()
                     ? "has no OPTIONS file, so filters are taken to be used"
                     : database.options.name + ", written by RocksDB " +
                           database.options.rocksdb_version));
  ShowStatistics(statistics, console);
  if (total.has_value()) ShowTotal(*total, budget, families, console);
  for (const Family& family : families) {
    console->AddElement(ToJson(family));
    ShowFamily(database.path, family, console);
  }
  return problems.empty() ? kSuccess : kUndecided;
}

}  // namespace deltabloom::tools
