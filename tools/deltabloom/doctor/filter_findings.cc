// Finds whether tables have filters, and whether lookups use these and they
// reject keys.
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "tools/deltabloom/database/options_file.h"
#include "tools/deltabloom/doctor/findings.h"
#include "tools/deltabloom/doctor/report.h"
#include "tools/deltabloom/doctor/text.h"
#include "tools/program/console.h"

namespace deltabloom::tools {
namespace {

struct WithoutFilters {
  TableGroup tables;
  std::string levels;

  void Add(int level, const TableGroup& group) {
    tables.Add(group);
    if (level < 0) return;
    levels += (levels.empty() ? " in level " : " and ") + std::to_string(level);
  }
};

struct UnusedFilters {
  TableGroup tables;
  std::set<std::string> kinds;

  void Add(const GroupKey& key, const TableGroup& group) {
    tables.Add(group);
    kinds.insert(key.filter + " under the name " + key.compatibility_name);
  }
};

// The tables of a column family, each in `all` and in at most one of the
// others.
struct FamilyTables {
  TableGroup all;
  WithoutFilters without;            // that should have one
  WithoutFilters without_by_choice;  // of the options
  TableGroup not_asked;              // needs_no_filter
  UnusedFilters unused;
  TableGroup few_prefixes;
  TableGroup weak;
  TableGroup few_bits;

  void Add(const GroupKey& key, const TableGroup& group, bool builds_filters) {
    all.Add(group);
    if (key.filter.empty()) {
      const bool chosen = !builds_filters || key.needs_no_filter;
      (chosen ? without_by_choice : without).Add(key.level, group);
    } else if (key.needs_no_filter) {
      not_asked.Add(group);
    } else if (key.used == false) {
      unused.Add(key, group);
    } else if (key.few_prefixes) {
      few_prefixes.Add(group);
    } else if (key.weak) {
      weak.Add(group);
    } else if (key.few_bits) {
      few_bits.Add(group);
    }
  }
};

// "column family default: the filters of 3 tables of 7.1 MB"
std::string FiltersText(const std::string& name, const TableGroup& group) {
  return FamilyText(name) + ": the filters of " +
         Count(group.tables, "table", "tables") + " of " +
         Megabytes(group.bytes);
}

// Returns what lookups cost now.
std::string ReadsText(const DatabaseReport& database, const std::string& name) {
  const auto reads = database.reads.find(name);
  if (reads == database.reads.end()) return {};
  return ": a lookup of an absent key reads " + reads->second.Text() +
         " data blocks";
}

std::string WithoutText(const std::string& name,
                        const WithoutFilters& without) {
  const TableGroup& group = without.tables;
  return FamilyText(name) + ": no filter in " +
         Count(group.tables, "table", "tables") + without.levels + ", of " +
         Megabytes(group.bytes) + ", written " +
         TimeText(group.oldest, group.newest);
}

void WithoutFilter(const DatabaseReport& database, const std::string& name,
                   const WithoutFilters& without, Findings* findings) {
  if (without.tables.tables == 0) return;
  findings->Add(
      Severity::kProblem, "tables_without_filter",
      WithoutText(name, without) + ReadsText(database, name),
      database.is_leveldb
          ? "with a filter_policy in use, compactions give them filters "
            "when they rewrite them; at once: CompactRange(nullptr, "
            "nullptr), except where the last level has nothing above it"
          : "with a policy in use, compactions give them filters when they "
            "rewrite them; at once: CompactRange() with "
            "bottommost_level_compaction=kForce, or, if the OPTIONS file "
            "names the policy and no program has the database open, "
            "deltabloom run ldb " +
                ShellWord("--db=" + database.path) +
                (name == "default"
                     ? ""
                     : " " + ShellWord("--column_family=" + name)) +
                " --try_load_options compact");
}

void WithoutFilterByChoice(const FamilyOptions* family, bool builds_filters,
                           const std::string& name,
                           const WithoutFilters& without, Findings* findings) {
  if (without.tables.tables == 0) return;
  const bool left_out =
      builds_filters && family != nullptr && family->optimize_filters_for_hits;
  findings->Add(Severity::kNote, "no_filter_by_choice",
                WithoutText(name, without) + "; " +
                    (left_out ? "optimize_filters_for_hits leaves them out"
                              : "the policy builds none") +
                    (builds_filters ? " where nothing older is below" : ""));
}

void NotAsked(const std::string& name, const TableGroup& group,
              Findings* findings) {
  if (group.tables == 0) return;
  findings->Add(Severity::kNote, "filters_not_asked",
                FamilyText(name) +
                    ": optimize_filters_for_hits asks no filter of " +
                    Count(group.tables, "table", "tables") + " of " +
                    Megabytes(group.bytes) + " in the last level");
}

void NotQueried(const DatabaseReport& database, const std::string& name,
                const UnusedFilters& filters, Findings* findings) {
  if (filters.tables.tables == 0) return;
  std::string kinds;
  for (const std::string& kind : filters.kinds) {
    kinds += (kinds.empty() ? "" : ", ") + kind;
  }
  const FamilyOptions* const family = database.options.Find(name);
  findings->Add(
      Severity::kProblem, "filters_not_queried",
      FiltersText(name, filters.tables) + " (" + kinds +
          ") are not used under " +
          (family == nullptr ? "any policy of RocksDB 7.0 and later"
                             : "filter_policy=" + family->policy) +
          ReadsText(database, name),
      "open the database with the policy, the compatibility, the key "
      "transform and the prefix extractor that the filters were built for; "
      "or let this policy rewrite the tables, one replica at a time: "
      "CompactRange() with bottommost_level_compaction=kForce");
}

// A program of LevelDB has one policy, of one name.
void SeveralNames(const DatabaseReport& database, Findings* findings) {
  std::map<std::string, uint64_t> tables;
  for (const auto& [key, group] : database.groups) {
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
  findings->Add(Severity::kProblem, "filters_not_queried",
                database.path + ": filters of several names (" + names +
                    "), of which any program uses those of one",
                "let compactions rewrite the tables under one filter_policy");
}

void FewPrefixes(const DatabaseReport& database, const std::string& name,
                 const TableGroup& group, Findings* findings) {
  if (group.tables == 0) return;
  findings->Add(
      Severity::kProblem, "filters_of_few_prefixes",
      FiltersText(name, group) +
          " hold prefixes only, at most ten each: keys begin alike, and a "
          "filter rejects no key with a prefix that it holds" +
          ReadsText(database, name),
      "set whole_key_filtering=true, or a prefix_extractor with longer "
      "prefixes, and let compactions rewrite the tables");
}

void MatchMostKeys(const DatabaseReport& database, const std::string& name,
                   const TableGroup& group, Findings* findings) {
  if (group.tables == 0) return;
  findings->Add(
      Severity::kProblem, "filters_match_most_keys",
      FiltersText(name, group) +
          " match more than half of the keys that they do not hold" +
          ReadsText(database, name),
      "deltabloom inspect says what they are. Give the policy more bits "
      "per key, if it has few, and let compactions rewrite the tables");
}

void FewBits(const DatabaseReport& database, const std::string& name,
             const TableGroup& group, Findings* findings) {
  if (group.tables == 0) return;
  findings->Add(Severity::kNote, "fewer_bits_than_policy",
                FiltersText(name, group) +
                    " have fewer bits per key than the policy gives to each, " +
                    Format("%g", database.VerdictOf(name).bits_per_key) +
                    ReadsText(database, name),
                "compactions give them more when they rewrite them");
}

void FiltersExceedData(const std::string& name, const TableGroup& group,
                       Findings* findings) {
  const uint64_t data_bytes = group.bytes - group.filter_bytes;
  if (group.filter_bytes <= data_bytes) return;
  findings->Add(
      Severity::kNote, "filters_exceed_data",
      FamilyText(name) + ": the filters have " + Megabytes(group.filter_bytes) +
          ", all else in the tables " + Megabytes(data_bytes) +
          ": to load a filter costs more than the reads that it saves",
      "give the policy fewer bits per key; deltabloom estimate says what "
      "10 to 20 of them save");
}

}  // namespace

void FindInFilters(const DatabaseReport& database, Findings* findings) {
  std::map<std::string, FamilyTables> families;
  for (const auto& [key, group] : database.groups) {
    families[key.family].Add(key, group,
                             database.VerdictOf(key.family).builds_filters);
  }
  if (database.is_leveldb) SeveralNames(database, findings);
  for (const auto& [name, tables] : families) {
    const FamilyOptions* const family = database.options.Find(name);
    if (family == nullptr || family->BlockBased()) {
      WithoutFilter(database, name, tables.without, findings);
      WithoutFilterByChoice(family, database.VerdictOf(name).builds_filters,
                            name, tables.without_by_choice, findings);
    }
    NotAsked(name, tables.not_asked, findings);
    NotQueried(database, name, tables.unused, findings);
    FewPrefixes(database, name, tables.few_prefixes, findings);
    MatchMostKeys(database, name, tables.weak, findings);
    FewBits(database, name, tables.few_bits, findings);
    FiltersExceedData(name, tables.all, findings);
  }
}

}  // namespace deltabloom::tools
