// deltabloom doctor: whether databases run with filters, and what to do if not.

#include <CLI/CLI.hpp>
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
#include "tools/deltabloom/database/database.h"
#include "tools/deltabloom/database/options_file.h"
#include "tools/deltabloom/database/policy_verdict.h"
#include "tools/deltabloom/database/reads.h"
#include "tools/deltabloom/doctor/filter_loads.h"
#include "tools/deltabloom/doctor/process.h"
#include "tools/deltabloom/tables/table_files.h"
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
  bool few_prefixes = false;     // it holds a few, and nothing else
  bool few_bits = false;         // fewer than the policy has
  bool needs_no_filter = false;  // or none is asked

  auto Members() const {
    return std::tie(family, level, filter, compatibility_name, used, weak,
                    few_prefixes, few_bits, needs_no_filter);
  }
  bool operator<(const GroupKey& other) const {
    return Members() < other.Members();
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

// The share of the absent keys between the table's keys that its filter
// matches. One that holds prefixes only rejects a key between two of different
// prefixes, if at all.
std::optional<double> RateOf(const DatabaseTable& table) {
  const std::optional<double> rate = table.use.RateInUse();
  if (!table.only_prefixes || !table.counts_filter_keys || !rate.has_value()) {
    return rate;
  }
  const double different =
      std::min(1.0, static_cast<double>(table.filter_keys) /
                        static_cast<double>(table.entries));
  return 1 - different * (1 - *rate);
}

// Returns whether the keys begin with so few prefixes that a filter of these
// rejects next to nothing. Each partition counts its own.
bool HasFewPrefixes(const DatabaseTable& table) {
  constexpr uint64_t kFew = 10;
  return table.only_prefixes && table.counts_filter_keys &&
         table.use.used != false && RateOf(table).value_or(0) > kMostKeys &&
         table.filter_keys <=
             kFew * std::max<uint64_t>(table.filter_partitions, 1);
}

// Returns whether the filter has fewer bits per key than the policy gives now.
// Sizes are multiples of a cache line, and of filters of RocksDB's kinds bits
// mean something else.
bool HasFewBits(const DatabaseTable& table, double bits_per_key) {
  constexpr double kCacheLine = 64;
  constexpr double kTolerance = 0.95;
  const double wanted =
      bits_per_key * static_cast<double>(table.filter_keys) / 8;
  return table.counts_filter_keys && table.use.used == true &&
         table.use.kind.compare(0, 11, "Deltabloom ") == 0 &&
         static_cast<double>(table.filter_bytes) + kCacheLine <
             kTolerance * wanted;
}

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
    key.few_prefixes = HasFewPrefixes(table);
    key.needs_no_filter = table.needs_no_filter;
    const auto verdict = report.verdicts.find(table.family);
    key.few_bits = verdict != report.verdicts.end() &&
                   HasFewBits(table, verdict->second.bits_per_key);
    report.groups[key].Add({1, table.bytes, table.entries, table.filter_bytes,
                            table.written, table.written});
    if (table.level >= 0) {
      report.reads[table.family].Add(RateOf(table), table.share_of_lookups);
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
    "--try_load_options put or compact without deltabloom run, which preloads "
    "the plugin, or programs with RocksDB linked into them. Then open the "
    "database in a program that sets the policy; or, while no program has it "
    "open, write filter_policy=deltabloom:10 into the newest OPTIONS file, in "
    "its [TableOptions/BlockBasedTable]. filter_policy=deltabloom:0 says that "
    "no filters are wanted";

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
    if (database.is_none && database.tables.empty()) {
      NoDatabase();
      return;
    }
    Unreadable();
    if (database.listed && database.options.name.empty()) {
      Add(Severity::kUnknown, "no_options_file",
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
      Add(Severity::kNote, "later_rocksdb",
          database.path + ": was last opened by RocksDB " +
              database.options.rocksdb_version +
              ", which is later than those that this Deltabloom knows, up to "
              "11.12",
          "what is said here may be wrong: take a Deltabloom for it");
    }
    for (const FamilyOptions& family : database.options.families) {
      Family(family);
      Collectors(family);
    }
    const bool is_known = std::any_of(
        database.options.families.begin(), database.options.families.end(),
        [](const FamilyOptions& family) { return !family.BlockBased(); });
    if (database.not_block_based > 0 && !is_known) {
      Add(Severity::kNote, "not_block_based",
          database.path + ": " +
              Count(database.not_block_based, "table is", "tables are") +
              " of PlainTable or CuckooTable, which have no such filters");
    }
    if (database.elsewhere > 0) {
      Add(Severity::kUnknown, "tables_elsewhere",
          database.path + ": " + Count(database.elsewhere, "table", "tables") +
              " not in this directory",
          "if they are in other directories (db_paths, cf_paths), name these "
          "by --path; otherwise they are lost");
    }
    Groups();
    for (const auto& [name, cache] : database.caches) Loads(name, cache);
  }

 private:
  void Add(Severity severity, const char* code, std::string what,
           std::string to_do = {}) {
    findings_.push_back({severity, code, std::move(what), std::move(to_do)});
  }

  void NoDatabase() {
    Add(Severity::kUnknown, "no_database",
        database_->path + ": no database: it has no file CURRENT" +
            (database_->unknown_files > 0
                 ? ", and no file (*.sst, *.ldb) that is a table of RocksDB or "
                   "LevelDB"
                 : ", no OPTIONS file and no table"),
        "name the directory that has the file CURRENT");
  }

  void Unreadable() {
    const bool foreign = database_->unknown_files > 0;
    if (foreign) {
      Add(Severity::kUnknown, "unknown_files",
          database_->path + ": none of " +
              Count(database_->unknown_files, "file", "files") +
              " (*.sst, *.ldb) ends like a table of RocksDB or LevelDB: "
              "encrypted, or not RocksDB's",
          "files that a program encrypts can be examined by that program only, "
          "by the tickers rocksdb.bloom.filter.* and the property "
          "rocksdb.aggregated-table-properties");
    }
    for (const std::string& problem : database_->problems) {
      Add(Severity::kUnknown, "unreadable", problem,
          foreign ? "see the files that are encrypted, or not RocksDB's"
                  : "check that this is the database's directory and that "
                    "this user may read it; restore a damaged file from a "
                    "backup");
    }
  }

  // RocksDB 7.8 writes several collectors as a text that it cannot read.
  void Collectors(const FamilyOptions& family) {
    bool is_read = true;
#ifdef DELTABLOOM_TOOLS_ROCKSDB
    is_read = ReadsCollectors(family.collectors);
#endif
    if (is_read || !family.HasSeveralCollectors()) return;
    Add(Severity::kProblem, "collectors_not_read",
        FamilyText(family.name) +
            ": the OPTIONS file has several table_properties_collectors, which "
            "this RocksDB writes but does not read: a program that opens the "
            "database with this file has none of them, and its tables have no "
            "range filters",
        "keep only deltabloom.range in this line, or add the collectors where "
        "the program sets its options");
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
    if (!family.comparator.empty() && !IsBytewise(family.comparator) &&
        !family.HasKeyTransform()) {
      Add(Severity::kNote, "comparator_not_known",
          who + "its comparator, " + family.comparator +
              ", is not known here: if keys of different bytes are equal under "
              "it, filters hide keys, RocksDB's own too",
          "for such a comparator set key_transform (docs/guide.md), or no "
          "filter policy");
    }
    PolicyVerdict verdict;  // of a build without RocksDB
    const auto found = database_->verdicts.find(family.name);
    if (found != database_->verdicts.end()) verdict = found->second;
    if (verdict.unknown) {
      Add(Severity::kUnknown, "unknown_policy",
          who + "no policy known here has the name " + family.policy +
              "; RocksDB silently treats an unknown policy as no filters",
          "check the name: Deltabloom's policy is deltabloom, as in "
          "deltabloom:10. Programs that take it from an OPTIONS file know it "
          "with deltabloom run PROGRAM, which preloads the plugin");
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
    } else if (!verdict.builds_in_last_level) {
      Add(Severity::kNote, "no_filter_by_choice",
          names_policy +
              " builds no filters in the last level: less than 0.5 bits per "
              "key there");
    }
  }

  // Tables without filters of each column family, apart from those that have
  // none by choice.
  void Groups() {
    std::map<std::pair<std::string, bool>, TableGroup> without;
    std::map<std::pair<std::string, bool>, std::string> levels;
    std::map<std::string, UnusedFilters> unused;
    std::map<std::string, TableGroup> weak;
    std::map<std::string, TableGroup> few_prefixes;
    std::map<std::string, TableGroup> few_bits;
    std::map<std::string, TableGroup> not_asked;
    std::map<std::string, TableGroup> families;
    for (const auto& [key, group] : database_->groups) {
      families[key.family].Add(group);
      if (!key.filter.empty()) {
        if (key.needs_no_filter) {
          not_asked[key.family].Add(group);
        } else if (key.used == false) {
          unused[key.family].Add(key, group);
        } else if (key.few_prefixes) {
          few_prefixes[key.family].Add(group);
        } else if (key.weak) {
          weak[key.family].Add(group);
        } else if (key.few_bits) {
          few_bits[key.family].Add(group);
        }
        continue;
      }
      const bool chosen =
          without_filters_.count(key.family) > 0 || key.needs_no_filter;
      const std::pair<std::string, bool> which(key.family, chosen);
      without[which].Add(group);
      if (key.level >= 0) {
        levels[which] += (levels[which].empty() ? " in level " : " and ") +
                         std::to_string(key.level);
      }
    }
    if (database_->is_leveldb) SeveralNames();
    FiltersExceedData(families);
    for (const auto& [which, group] : without) {
      WithoutFilter(which.first, group, levels[which], which.second);
    }
    for (const auto& [name, filters] : unused) NotQueried(name, filters);
    MatchMostKeys(weak);
    FewPrefixes(few_prefixes);
    FewBits(few_bits);
    for (const auto& [name, group] : not_asked) {
      Add(Severity::kNote, "filters_not_asked",
          FamilyText(name) + ": optimize_filters_for_hits asks no filter of " +
              Count(group.tables, "table", "tables") + " of " +
              Megabytes(group.bytes) + " in the last level");
    }
  }

  // A program of LevelDB has one policy, of one name.
  void SeveralNames() {
    std::map<std::string, uint64_t> tables;
    for (const auto& [key, group] : database_->groups) {
      if (!key.compatibility_name.empty()) {
        tables[key.compatibility_name] += group.tables;
      }
    }
    if (tables.size() < 2) return;
    std::string names;
    for (const auto& [name, count] : tables) {
      names += (names.empty() ? "" : ", ") + name + " in " +
               Count(count, "table", "tables");
    }
    Add(Severity::kProblem, "filters_not_queried",
        database_->path + ": filters of several names (" + names +
            "), of which any program uses those of one",
        "let compactions rewrite the tables under one filter_policy");
  }

  void FewPrefixes(const std::map<std::string, TableGroup>& groups) {
    for (const auto& [name, group] : groups) {
      Add(Severity::kProblem, "filters_of_few_prefixes",
          FamilyText(name) + ": the filters of " +
              Count(group.tables, "table", "tables") + " of " +
              Megabytes(group.bytes) +
              " hold prefixes only, at most ten each: keys begin alike, and a "
              "filter rejects no key with a prefix that it holds" +
              ReadsText(name),
          "set whole_key_filtering=true, or a prefix_extractor with longer "
          "prefixes, and let compactions rewrite the tables");
    }
  }

  void FewBits(const std::map<std::string, TableGroup>& groups) {
    for (const auto& [name, group] : groups) {
      Add(Severity::kNote, "fewer_bits_than_policy",
          FamilyText(name) + ": the filters of " +
              Count(group.tables, "table", "tables") + " of " +
              Megabytes(group.bytes) +
              " have fewer bits per key than the policy gives to each, " +
              Format("%g", database_->verdicts.at(name).bits_per_key) +
              ReadsText(name),
          "compactions give them more when they rewrite them");
    }
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
            ") are not used under " +
            (family == nullptr ? "any policy of RocksDB 7.0 and later"
                               : "filter_policy=" + family->policy) +
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
               ShellWord(database_->path) + " --filter-memory " +
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
          database_->is_leveldb
              ? "with a filter_policy in use, compactions give them filters "
                "when they rewrite them; at once: CompactRange(nullptr, "
                "nullptr), except where the last level has nothing above it"
              : "with a policy in use, compactions give them filters when they "
                "rewrite them; at once: CompactRange() with "
                "bottommost_level_compaction=kForce, or, if the OPTIONS file "
                "names the policy and no program has the database open, "
                "deltabloom run ldb " +
                    ShellWord("--db=" + database_->path) +
                    " --try_load_options compact");
    } else {
      Add(Severity::kNote, "no_filter_by_choice",
          what +
              (without_filters_.count(name) > 0
                   ? "; the policy builds none"
                   : std::string("; ") +
                         (family != nullptr && family->optimize_filters_for_hits
                              ? "optimize_filters_for_hits leaves them out"
                              : "the policy builds none") +
                         " where nothing older is below"));
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

ExitCode RunDoctor(const std::string& path,
                   const std::vector<std::string>& paths, Console* console) {
  ProcessReport process;
  process.cpu = internal::CpuName(internal::ActiveCpu());
#ifdef DELTABLOOM_TOOLS_ROCKSDB
  ReadRocksDB(&process);
#endif
  Doctor doctor;
  doctor.Process(process);
  DatabaseReport database;
  if (!path.empty()) {
    database = ReportOf(ReadDatabase(path, paths, console));
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
                      "The directory of a database; without it only "
                      "this process is examined")
          ->check(CLI::ExistingDirectory);
  app->add_option("--db", *path, "The same as PATH")
      ->type_name("DIR")
      ->check(CLI::ExistingDirectory)
      ->excludes(positional);
  const auto paths = std::make_shared<std::vector<std::string>>();
  AddPathOption(app, paths.get());
  app->callback([path, paths] {
    if (path->empty() && !paths->empty()) {
      throw CLI::RequiresError("--path", "PATH");
    }
  });
  return [path, paths](Console* console) {
    return RunDoctor(*path, *paths, console);
  };
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
Tables in other directories (db_paths, cf_paths) are counted only, unless --path
names these. The OPTIONS file is what the last program that opened the database
wrote: the next one has the same options only if it reads them there.

LevelDB stores no options: of its databases the tables are shown, and whether
programs use their filters is not known. Files that are encrypted cannot be
examined.

The number of data blocks that a lookup of an absent key reads is the sum of the
expected false-positive rates of the filters that it asks: one for each table of
level 0, and one for each other level, as far as the keys of these tables reach.
Without a filter, or with one that is not used, a table counts 1. Where a filter
holds prefixes only, an absent key between two keys of one prefix counts 1.

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
tables_without_filter, filters_not_queried, filters_match_most_keys,
filters_of_few_prefixes and collectors_not_read.
Unknown values are null.)";
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
