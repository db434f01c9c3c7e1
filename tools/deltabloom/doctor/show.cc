#include "tools/deltabloom/doctor/show.h"

#include <cstdint>
#include <string>
#include <vector>

#include "tools/deltabloom/database/options_file.h"
#include "tools/deltabloom/doctor/filter_loads.h"
#include "tools/deltabloom/doctor/process.h"
#include "tools/deltabloom/doctor/report.h"
#include "tools/deltabloom/doctor/text.h"
#include "tools/program/console.h"
#include "util/version.h"

namespace deltabloom::tools {
namespace {

Json TimeOrNull(uint64_t seconds) {
  return seconds == 0 ? Json() : Json(seconds);
}

Json ToJson(const ProcessReport& process) {
  return {{"deltabloom", internal::kVersion},
          {"built_for_rocksdb", TextOrNull(process.built_for)},
          {"loaded_rocksdb", TextOrNull(process.loaded)},
          {"libraries", process.libraries},
          {"cpu", process.cpu},
          {"policy_can_be_made",
           process.built_for.empty() ? Json() : Json(process.problem.empty())}};
}

// Null without filters in the block cache.
Json CacheOf(const std::string& family, const DatabaseReport& database) {
  const auto found = database.caches.find(family);
  if (found == database.caches.end()) return {};
  const FamilyCache& cache = found->second;
  const bool known = cache.capacity.has_value();
  const auto number = [known](double value) {
    return known ? Json(value) : Json();
  };
  return {{"capacity", known ? Json(*cache.capacity) : Json()},
          {"filter_bytes", cache.filters.filter_bytes()},
          {"filters_loaded", number(cache.loads.filters)},
          {"filter_bytes_loaded", number(cache.loads.bytes)},
          {"data_block_bytes_saved", number(cache.loads.bytes_saved)}};
}

Json ToJson(const DatabaseReport& database) {
  Json json = {
      {"path", database.path},
      {"options_file", TextOrNull(database.options.name)},
      {"options_time", TimeOrNull(database.options.time)},
      {"rocksdb_version", TextOrNull(database.options.rocksdb_version)},
      {"column_families", Json::array()},
      {"tables", Json::array()},
      {"unused", database.unused},
      {"gone", database.gone},
      {"elsewhere", database.elsewhere},
      {"being_written", database.unfinished}};
  for (const FamilyOptions& family : database.options.families) {
    json["column_families"].push_back(
        {{"name", family.name},
         {"filter_policy", TextOrNull(family.policy)},
         {"names_a_policy", family.NamesPolicy()},
         {"names_deltabloom", family.NamesDeltabloom()}});
    const auto reads = database.reads.find(family.name);
    json["column_families"].back()["reads"] =
        reads == database.reads.end() ? Json()
                                      : NumberOrNull(reads->second.Sum());
    json["column_families"].back()["block_cache"] =
        CacheOf(family.name, database);
  }
  for (const auto& [key, group] : database.groups) {
    json["tables"].push_back(
        {{"column_family", TextOrNull(key.family)},
         {"level", key.level < 0 ? Json() : Json(key.level)},
         {"filter", TextOrNull(key.filter)},
         {"compatibility_name", TextOrNull(key.compatibility_name)},
         {"used", key.used.has_value() ? Json(*key.used) : Json()},
         {"tables", group.tables},
         {"bytes", group.bytes},
         {"entries", group.entries},
         {"filter_bytes", group.filter_bytes},
         {"oldest", TimeOrNull(group.oldest)},
         {"newest", TimeOrNull(group.newest)}});
  }
  return json;
}

}  // namespace

void ShowProcess(const ProcessReport& process, Console* console) {
  console->Add("process", ToJson(process));
  std::string rocksdb = ", built without RocksDB";
  if (!process.built_for.empty()) {
    rocksdb = ", built for RocksDB " + process.built_for + "; loaded is " +
              process.loaded + " from ";
    for (const std::string& path : process.libraries) {
      rocksdb += (&path == &process.libraries.front() ? "" : ", ") + path;
    }
  }
  console->Line(std::string("deltabloom ") + internal::kVersion + rocksdb);
  console->Line("kernels for this CPU: " + process.cpu);
  if (process.built_for.empty()) return;
  console->Line(std::string("filter policy in this process: ") +
                (process.problem.empty() ? "can be made" : "none"));
}

void ShowDatabase(const DatabaseReport& database, Console* console) {
  console->Add("database", ToJson(database));
  const std::string& version = database.options.rocksdb_version;
  console->Line("");
  console->Line(
      database.path + ": " +
      (!database.listed ? "cannot be read"
       : database.options.name.empty()
           ? "no OPTIONS file"
           : database.options.name + " of " + TimeText(database.options.time)) +
      (version.empty() ? "" : ", written by RocksDB " + version));
  for (const FamilyOptions& family : database.options.families) {
    console->Line("  column family " + family.name + ": " +
                  (family.policy.empty() ? "names no filter_policy"
                                         : "filter_policy=" + family.policy));
  }
  if (!database.options.families.empty()) {
    console->Line(
        "  This is how the last program opened it; the next one may set other "
        "options.");
  }
  std::vector<std::vector<std::string>> rows = {
      {"  column family", "filters", "used", "level", "tables", "size",
       "filter size", "written"}};
  for (const auto& [key, group] : database.groups) {
    rows.push_back({"  " + (key.family.empty() ? "-" : key.family),
                    key.filter.empty() ? "none" : key.filter,
                    key.filter.empty()      ? "-"
                    : !key.used.has_value() ? "?"
                    : *key.used             ? "yes"
                                            : "no",
                    key.level < 0 ? "-" : std::to_string(key.level),
                    std::to_string(group.tables), Megabytes(group.bytes),
                    Megabytes(group.filter_bytes),
                    TimeText(group.oldest, group.newest)});
  }
  if (rows.size() > 1) console->Table(rows, 3);
  for (const auto& [family, reads] : database.reads) {
    console->Line(
        "  " + FamilyText(family) +
        ": data blocks read by a lookup of an absent key: " + reads.Text());
  }
  for (const auto& [family, cache] : database.caches) {
    console->Line(
        "  " + FamilyText(family) +
        ": filters in the block cache: " + Size(cache.filters.filter_bytes()) +
        (cache.capacity.has_value()
             ? "; size of the cache, by the LOG: " + Size(*cache.capacity) +
                   "; filters that a lookup of an absent key loads: at least " +
                   Format("%.2f", cache.loads.filters)
             : "; size of the cache: not known"));
  }
  const auto counted = [console](uint64_t tables, const char* what) {
    if (tables == 0) return;
    console->Line("  " + Count(tables, "table ", "tables ") + what);
  };
  counted(database.unused, "not part of the database, or not yet");
  counted(database.gone, "gone meanwhile");
  counted(database.unfinished, "being written");
}

}  // namespace deltabloom::tools
