// deltabloom doctor: whether databases run with filters, and what to do if not.
#include "tools/deltabloom/doctor.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tools/deltabloom/commands.h"
#include "tools/deltabloom/database.h"
#include "tools/deltabloom/filter_loads.h"
#include "tools/deltabloom/options_file.h"
#include "tools/deltabloom/reads.h"
#include "tools/program/console.h"
#include "tools/program/program.h"
#include "util/cpu.h"
#include "util/version.h"

namespace deltabloom::tools {
namespace {

// Tables that have the same kind of filter, in one level of a column family.
struct TableGroup {
  uint64_t tables = 0;
  uint64_t bytes = 0;
  uint64_t entries = 0;
  uint64_t filter_bytes = 0;
  // When they were written, in seconds since 1970; 0: not known.
  uint64_t oldest = 0;
  uint64_t newest = 0;

  void Add(const TableGroup& other) {
    tables += other.tables;
    bytes += other.bytes;
    entries += other.entries;
    filter_bytes += other.filter_bytes;
    if (oldest == 0 || (other.oldest != 0 && other.oldest < oldest)) {
      oldest = other.oldest;
    }
    newest = std::max(newest, other.newest);
  }
};

struct GroupKey {
  std::string family;
  int level = -1;  // -1: not known
  // The kind of the filter, by its bytes; empty: no filter.
  std::string filter;
  // The name of the filter in the table; empty without a filter.
  std::string compatibility_name;
  // True if lookups under the policy of the family use it; nothing if that is
  // not known.
  std::optional<bool> used;
  // True if it is expected to match most keys that it does not hold.
  bool weak = false;

  bool operator<(const GroupKey& other) const {
    return std::tie(family, level, filter, compatibility_name, used, weak) <
           std::tie(other.family, other.level, other.filter,
                    other.compatibility_name, other.used, other.weak);
  }
};

struct DatabaseReport : Database {
  std::map<GroupKey, TableGroup> groups;
  std::map<std::string, Reads> reads;         // by column family
  std::map<std::string, FamilyCache> caches;  // the same
};

// A filter that matches more than this share of the keys that it does not hold
// saves less than half of the reads.
constexpr double kMostKeys = 0.5;

DatabaseReport ReportOf(Database database) {
  DatabaseReport report{std::move(database), {}, {}, {}};
  std::string problem;
  report.caches = FindFilterLoads(report, &problem);
  if (!problem.empty()) report.problems.push_back(std::move(problem));
  for (const DatabaseTable& table : report.tables) {
    GroupKey key;
    key.family = table.family;
    key.level = table.level;
    key.filter = table.use.kind;
    key.compatibility_name = table.compatibility_name;
    key.used = table.use.used;
    key.weak = table.use.rate.value_or(0) > kMostKeys;
    report.groups[key].Add({1, table.bytes, table.entries, table.filter_bytes,
                            table.written, table.written});
    if (table.level >= 0) {
      report.reads[table.family].Add(table.use.RateInUse(),
                                     table.share_of_lookups);
    }
  }
  return report;
}

// --- Findings.

enum class Severity : uint8_t {
  kNote,     // nothing to do
  kUnknown,  // could not be examined
  kProblem,  // filters are missing, or will be
};
constexpr const char* kSeverityNames[] = {"note", "unknown", "problem"};

struct Finding {
  Severity severity;
  const char* code;  // for programs; never changes
  std::string what;  // a line
  std::string to_do;
};

constexpr char kToDoWithoutPolicy[] =
    "find the program. Programs that do not know the policy do this: ldb "
    "--try_load_options put or compact without the plugin under LD_PRELOAD, or "
    "programs with RocksDB linked into them. Then open the database in a "
    "program that sets the policy; or, while no program has it open, write "
    "filter_policy=deltabloom:10 into the newest OPTIONS file, in its "
    "[TableOptions/BlockBasedTable]. filter_policy=deltabloom:0 says that no "
    "filters are wanted";

// "2026-11-21 22:07:27 UTC"; "an unknown time" for 0.
std::string TimeText(uint64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts;
  char text[64];
  if (seconds == 0 || seconds > 253402300799 ||  // the end of the year 9999
      gmtime_r(&time, &parts) == nullptr ||
      std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &parts) == 0) {
    return "an unknown time";
  }
  return text;
}

// "... to ...", if they differ.
std::string TimeText(uint64_t oldest, uint64_t newest) {
  if (oldest == newest) return TimeText(oldest);
  return TimeText(oldest) + " to " + TimeText(newest);
}

// "46.2 kB", "3.4 MB".
std::string Size(double bytes) {
  return bytes < 1e6 ? Format("%.1f kB", bytes / 1e3)
                     : Format("%.1f MB", bytes / 1e6);
}
std::string Size(uint64_t bytes) { return Size(static_cast<double>(bytes)); }

std::string FamilyText(const std::string& name) {
  return name.empty() ? "tables that name no column family"
                      : "column family " + name;
}

class Doctor {
 public:
  // The worst first, those of the same code together.
  std::vector<Finding> TakeFindings() {
    const auto before = [](const Finding& a, const Finding& b) {
      return a.severity != b.severity ? a.severity > b.severity
                                      : std::strcmp(a.code, b.code) < 0;
    };
    std::stable_sort(findings_.begin(), findings_.end(), before);
    return std::move(findings_);
  }

  void Process(const ProcessReport& process) {
    if (process.built_for.empty()) {
      Add(Severity::kUnknown, "no_rocksdb",
          "this deltabloom was built without RocksDB: whether programs can use "
          "the policy is not known",
          "build it with librocksdb-dev and -DDELTABLOOM_ROCKSDB=ON");
    } else if (!process.problem.empty()) {
      Add(Severity::kProblem, "no_policy_in_process", process.problem,
          "until this is solved, no program with this Deltabloom and this "
          "RocksDB has a filter policy");
    }
  }

  void Database(const DatabaseReport& database) {
    database_ = &database;
    for (const std::string& problem : database.problems) {
      Add(Severity::kUnknown, "unreadable", problem,
          "check that this is the database's directory and that this user may "
          "read it; restore a damaged file from a backup");
    }
    if (database.listed && database.options.name.empty()) {
      Add(Severity::kUnknown, "no_options_file",
          database.path +
              ": has no OPTIONS file, so the policy it was last opened with "
              "is not known",
          "pass the directory that has the file CURRENT, and copy the OPTIONS "
          "file with it; LevelDB has none: use inspect and verify there");
    }
    for (const FamilyOptions& family : database.options.families) {
      Family(family);
    }
    if (database.elsewhere > 0) {
      Add(Severity::kUnknown, "tables_elsewhere",
          database.path + ": " + Count(database.elsewhere, "table", "tables") +
              " not in this directory",
          "if they are in other directories (db_paths, cf_paths), deltabloom "
          "inspect lists their filters; otherwise they are lost");
    }
    Groups();
    for (const auto& [name, cache] : database.caches) Loads(name, cache);
  }

 private:
  void Add(Severity severity, const char* code, std::string what,
           std::string to_do = {}) {
    findings_.push_back({severity, code, std::move(what), std::move(to_do)});
  }

  const FamilyOptions* OptionsOf(const std::string& name) const {
    for (const FamilyOptions& family : database_->options.families) {
      if (family.name == name) return &family;
    }
    return nullptr;
  }

  void Family(const FamilyOptions& family) {
    const std::string who = FamilyText(family.name) + ": ";
    const std::string names_policy = who + "filter_policy=" + family.policy;
    if (!family.BlockBased()) {
      Add(Severity::kNote, "not_block_based",
          who + "its tables are of " + family.table_factory +
              ", which have no such filters");
      return;
    }
    if (!family.NamesPolicy()) {
      Add(Severity::kProblem, "options_without_policy",
          who + "was last opened without a filter policy (" +
              database_->options.name + " of " +
              TimeText(database_->options.time) + ", RocksDB " +
              database_->options.rocksdb_version +
              "): the tables that this program writes have no filter, and any "
              "program that opens the database with these options does the "
              "same",
          kToDoWithoutPolicy);
      return;
    }
    PolicyVerdict verdict;  // of a build without RocksDB
    const auto found = database_->verdicts.find(family.name);
    if (found != database_->verdicts.end()) verdict = found->second;
    if (verdict.unknown) {
      Add(Severity::kUnknown, "unknown_policy",
          who + "no policy known here has the name " + family.policy +
              "; RocksDB silently treats an unknown policy as no filters",
          "check the name: Deltabloom's policy is deltabloom, as in "
          "deltabloom:10");
    } else if (verdict.unknown_transform) {
      Add(Severity::kUnknown, "unknown_key_transform",
          names_policy +
              ": its key_transform is not known here, so whether the policy "
              "works is not known",
          "check that the program calls RegisterKeyTransform before it opens "
          "the database");
    } else if (!family.NamesDeltabloom()) {
      Add(Severity::kNote, "other_policy",
          who + "the policy is " + family.policy + ", not Deltabloom's");
    } else if (!verdict.problem.empty()) {
      Add(Severity::kProblem, "policy_cannot_work",
          names_policy + ": " + verdict.problem, verdict.to_do);
    } else if (!verdict.builds_filters) {
      without_filters_.insert(family.name);
      Add(Severity::kNote, "no_filter_by_choice",
          names_policy + " builds no filters: less than 0.5 bits per key");
    }
  }

  // Tables without filters of each column family, apart from those that have
  // none by choice.
  void Groups() {
    std::map<std::string, int> last_level;
    for (const auto& [key, group] : database_->groups) {
      last_level[key.family] = key.level;  // the highest comes last
    }
    std::map<std::pair<std::string, bool>, TableGroup> without;
    std::map<std::pair<std::string, bool>, std::string> levels;
    std::map<std::string, UnusedFilters> unused;
    std::map<std::string, TableGroup> weak;
    std::map<std::string, TableGroup> families;
    for (const auto& [key, group] : database_->groups) {
      families[key.family].Add(group);
      if (!key.filter.empty()) {
        if (key.used == false) unused[key.family].Add(key, group);
        if (key.used != false && key.weak) weak[key.family].Add(group);
        continue;
      }
      const FamilyOptions* const family = OptionsOf(key.family);
      const bool chosen =
          without_filters_.count(key.family) > 0 ||
          (family != nullptr && family->optimize_filters_for_hits &&
           key.level == last_level[key.family]);
      const std::pair<std::string, bool> which(key.family, chosen);
      without[which].Add(group);
      if (key.level >= 0) {
        levels[which] += (levels[which].empty() ? " in level " : " and ") +
                         std::to_string(key.level);
      }
    }
    FiltersExceedData(families);
    for (const auto& [which, group] : without) {
      WithoutFilter(which.first, group, levels[which], which.second);
    }
    for (const auto& [name, filters] : unused) NotQueried(name, filters);
    MatchMostKeys(weak);
  }

  void FiltersExceedData(const std::map<std::string, TableGroup>& families) {
    for (const auto& [name, group] : families) {
      const uint64_t data_bytes = group.bytes - group.filter_bytes;
      if (group.filter_bytes <= data_bytes) continue;
      Add(Severity::kNote, "filters_exceed_data",
          FamilyText(name) + ": the filters have " +
              Megabytes(group.filter_bytes) + ", all else in the tables " +
              Megabytes(data_bytes) +
              ": to load a filter costs more than the reads that it saves",
          "give the policy fewer bits per key; deltabloom estimate says what "
          "10 to 20 of them save");
    }
  }

  void MatchMostKeys(const std::map<std::string, TableGroup>& weak) {
    for (const auto& [name, group] : weak) {
      Add(Severity::kProblem, "filters_match_most_keys",
          FamilyText(name) + ": the filters of " +
              Count(group.tables, "table", "tables") + " of " +
              Megabytes(group.bytes) +
              " match more than half of the keys that they do not hold" +
              ReadsText(name),
          "deltabloom inspect says what they are. Give the policy more bits "
          "per key, if it has few, and let compactions rewrite the tables");
    }
  }

  // Filters of a column family that lookups do not use.
  struct UnusedFilters {
    TableGroup tables;
    std::set<std::string> kinds;

    void Add(const GroupKey& key, const TableGroup& group) {
      tables.Add(group);
      kinds.insert(key.filter + " under the name " + key.compatibility_name);
    }
  };

  void NotQueried(const std::string& name, const UnusedFilters& filters) {
    std::string kinds;
    for (const std::string& kind : filters.kinds) {
      kinds += (kinds.empty() ? "" : ", ") + kind;
    }
    const FamilyOptions* const family = OptionsOf(name);
    Add(Severity::kProblem, "filters_not_queried",
        FamilyText(name) + ": the filters of " +
            Count(filters.tables.tables, "table", "tables") + " of " +
            Megabytes(filters.tables.bytes) + " (" + kinds +
            ") are not used under filter_policy=" + family->policy +
            ReadsText(name),
        "open the database with the policy, the compatibility, the key "
        "transform and the prefix extractor that the filters were built for; "
        "or let this policy rewrite the tables, one replica at a time: "
        "CompactRange() with bottommost_level_compaction=kForce");
  }

  // Reports that lookups load more bytes of filters than the filters save.
  void Loads(const std::string& name, const FamilyCache& cache) {
    const FilterLoads& loads = cache.loads;
    if (!(loads.bytes > loads.bytes_saved)) return;
    const CachedFilters& filters = cache.filters;
    const auto filter_bytes = static_cast<double>(filters.filter_bytes());
    const auto index_bytes = static_cast<double>(filters.index_bytes());
    std::string to_do =
        "look at the statistics of loaded filters first. What helps: a larger "
        "block cache; ";
    if (!filters.all_partitioned()) {
      to_do +=
          "partition_filters=true and index_type=kTwoLevelIndexSearch, with "
          "which lookups load " +
          Size(loads.partition_bytes) +
          " once the tables are rewritten; cache_index_and_filter_blocks="
          "false, which keeps filters and indexes, " +
          Size(filters.filter_bytes() + filters.index_bytes()) +
          ", in memory beside the cache";
    } else {
      to_do += "a smaller metadata_block_size, by default 4096";
    }
    // Indexes are in the cache too.
    const double filter_memory =
        cache.share * filter_bytes / (filter_bytes + index_bytes);
    const double bits_per_key =
        8 * filter_memory / static_cast<double>(filters.keys());
    // With fewer bits most blocks are read in spite of a filter.
    constexpr double kLeastBits = 4;
    if (bits_per_key >= kLeastBits) {
      to_do += "; filters of " + Format("%.1f", bits_per_key) +
               " bits per key, which the cache can hold beside the indexes: "
               "deltabloom estimate " +
               database_->path + " --filter-memory " +
               std::to_string(static_cast<uint64_t>(filter_memory)) +
               " prints the bits_per_key to set";
    }
    Add(Severity::kNote, "filter_loads_exceed_reads",
        FamilyText(name) + ": filters of " + Size(filters.filter_bytes()) +
            " in a block cache of " + Size(*cache.capacity) + " (by the LOG" +
            (cache.is_shared ? ", which column families share" : "") +
            "): where lookups of absent keys are spread over all keys, each "
            "loads at least " +
            Format("%.2f", loads.filters) +
            (filters.all_partitioned() ? " partitions, " : " filters, ") +
            Size(loads.bytes) + ", and saves " +
            Format("%.2f", loads.blocks_saved) + " data blocks, " +
            Size(loads.bytes_saved),
        to_do);
  }

  // Returns what lookups cost now.
  std::string ReadsText(const std::string& family) const {
    const auto reads = database_->reads.find(family);
    if (reads == database_->reads.end()) return {};
    return ": a lookup of an absent key reads " + reads->second.Text() +
           " data blocks";
  }

  void WithoutFilter(const std::string& name, const TableGroup& group,
                     const std::string& levels, bool chosen) {
    const FamilyOptions* const family = OptionsOf(name);
    if (family != nullptr && !family->BlockBased()) return;
    const std::string what = FamilyText(name) + ": no filter in " +
                             Count(group.tables, "table", "tables") + levels +
                             ", of " + Megabytes(group.bytes) + ", written " +
                             TimeText(group.oldest, group.newest);
    if (!chosen) {
      Add(Severity::kProblem, "tables_without_filter", what + ReadsText(name),
          "with a policy in use, compactions give them filters when they "
          "rewrite them; at once: CompactRange() with "
          "bottommost_level_compaction=kForce, or, if the OPTIONS file names "
          "the policy and no program has the database open, ldb --db=" +
              database_->path +
              " --try_load_options compact with the plugin under LD_PRELOAD");
    } else {
      Add(Severity::kNote, "no_filter_by_choice",
          what + (without_filters_.count(name) > 0
                      ? "; the policy builds none"
                      : "; optimize_filters_for_hits leaves them out of the "
                        "last level"));
    }
  }

  const DatabaseReport* database_ = nullptr;
  std::set<std::string> without_filters_;  // families whose policy builds none
  std::vector<Finding> findings_;
};

// --- The report, as JSON and as text.

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

void Show(const ProcessReport& process, Console* console) {
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

void Show(const DatabaseReport& database, Console* console) {
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

void Show(const std::vector<Finding>& findings, Console* console) {
  Json json = Json::array();
  console->Line("");
  if (findings.empty()) console->Line("no problem found");
  for (size_t i = 0; i < findings.size(); ++i) {
    const auto& [severity, code, what, to_do] = findings[i];
    const std::string name = kSeverityNames[static_cast<size_t>(severity)];
    json.push_back({{"severity", name},
                    {"code", code},
                    {"what", what},
                    {"to_do", TextOrNull(to_do)}});
    console->Line(name + ": " + what);
    // Once for all column families.
    if (i + 1 < findings.size() && findings[i + 1].to_do == to_do) continue;
    if (!to_do.empty()) console->Line("  to do: " + to_do);
  }
  console->Add("findings", json);
}

ExitCode RunDoctor(const std::string& path, Console* console) {
  ProcessReport process;
  process.cpu = internal::CpuName(internal::ActiveCpu());
#ifdef DELTABLOOM_TOOLS_ROCKSDB
  ReadRocksDB(&process);
#endif
  Doctor doctor;
  doctor.Process(process);
  DatabaseReport database;
  if (!path.empty()) {
    database = ReportOf(ReadDatabase(path, console));
    doctor.Database(database);
  }
  const std::vector<Finding> findings = doctor.TakeFindings();
  console->Add("process", ToJson(process));
  Show(process, console);
  if (!path.empty()) {
    console->Add("database", ToJson(database));
    Show(database, console);
  }
  Show(findings, console);
  constexpr ExitCode kCodes[] = {kSuccess, kUndecided, kFailure};
  return findings.empty() ? kSuccess
                          : kCodes[static_cast<size_t>(findings[0].severity)];
}

RunFn AddDoctorOptions(CLI::App* app) {
  const auto path = std::make_shared<std::string>();
  auto* const positional =
      app->add_option("PATH", *path,
                      "The directory of a RocksDB database; without it only "
                      "this process is examined")
          ->check(CLI::ExistingDirectory);
  app->add_option("--db", *path, "The same as PATH")
      ->type_name("DIR")
      ->check(CLI::ExistingDirectory)
      ->excludes(positional);
  return [path](Console* console) { return RunDoctor(*path, console); };
}

}  // namespace

Command DoctorCommand() {
  Command command = {"doctor", "Check whether a database is run with filters",
                     AddDoctorOptions};
  Manual& manual = command.manual;
  manual.description = R"(
Checks whether a database is run with filters. RocksDB silently treats an
unknown policy as no filters: lookups then read every block that may hold a key.

For this process it shows the versions of Deltabloom and of RocksDB, built for
and loaded, the instructions that the kernels use, and whether a filter policy
can be created, as then in programs with the same libraries.

For the database it reads the newest OPTIONS file, which RocksDB writes whenever
it opens a database or changes its options, for the policy that each column
family was last opened with, and checks that this policy can work; the MANIFEST,
for the tables and their levels; and of each table its footer, its properties
and the end of its filter, for what the filter is, its size, and when the table
was written. The policy that the OPTIONS file names then looks up keys in the
filter, which shows whether lookups use it. Whether filters are damaged, and have
every key, is found by deltabloom inspect and verify, which read all of them.
Tables in other directories (db_paths, cf_paths) are counted only.

The number of data blocks that a lookup of an absent key reads is the sum of the
expected false-positive rates of the filters that it asks: one for each table of
level 0, and one for each other level, as far as the keys of these tables reach.
Without a filter, or with one that is not used, a table counts 1.

Where filters are in the block cache (cache_index_and_filter_blocks, or partitions)
it reads how large that is: from the LOG, because OPTIONS files do not say it. If
the LOG is elsewhere (db_log_dir) or the cache is of a kind that does not print its
size, that is not known. From the sizes it computes which filters a lookup of an
absent key, spread evenly over all keys, finds in the cache and which it loads, and
compares the bytes loaded with those of the data blocks saved. The statistics of a
running process count what is loaded.

Programs that do not know the policy, such as ldb --try_load_options put without
the plugin, write filter_policy=nullptr into the OPTIONS file, and tables
without filters.

No database is opened or written: running ones, copies and read-only media can
be examined. Tables that vanish meanwhile or are being written are counted.

The document of --json has "process", "database" (with a PATH:
"column_families" and "tables", the latter counted by column family, level and
policy of their filters; times are seconds since 1970) and "findings", the worst
first. A finding has "severity": "problem", "unknown" or "note", a "code" that
stays the same in all releases, "what" and "to_do". Codes of problems are
no_policy_in_process, options_without_policy, policy_cannot_work,
tables_without_filter, filters_not_queried, filters_match_most_keys and
levels_without_listener. Unknown values are null.)";
  manual.examples = {
      {"deltabloom doctor", "whether programs here can use the policy"},
      {"deltabloom doctor /var/lib/db", "and whether this database uses it"},
      {"deltabloom doctor --json /var/lib/db | jq -r "
       "'.findings[] | select(.severity == \"problem\").code'",
       "for a monitor"}};
  manual.success =
      "the policy can be created, every column family names a policy, and "
      "every table has a filter that this policy uses";
  manual.failure = "a problem was found";
  manual.undecided =
      "no problem was found, but something could not be examined";
  manual.environment = {
      {"DELTABLOOM_CPU",
       "portable, neon, avx2 or avx512: the instructions that kernels of "
       "Deltabloom's filters may use at most."}};
  return command;
}

}  // namespace deltabloom::tools
