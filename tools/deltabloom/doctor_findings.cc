// The findings of deltabloom doctor.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "tools/deltabloom/console.h"
#include "tools/deltabloom/doctor.h"

namespace deltabloom::tools {
namespace {

// The name of filters with compatibility=own.
constexpr char kOwnName[] = "deltabloom.SealedFilter";

std::string Tables(uint64_t tables) { return Count(tables, "table", "tables"); }

std::string FamilyText(const std::string& name) {
  return name.empty() ? "tables that name no column family"
                      : "column family " + name;
}

class Doctor {
 public:
  std::vector<Finding> TakeFindings() {
    std::stable_sort(findings_.begin(), findings_.end(),
                     [](const Finding& a, const Finding& b) {
                       if (a.severity != b.severity) {
                         return a.severity > b.severity;
                       }
                       return std::strcmp(a.code, b.code) < 0;
                     });
    return std::move(findings_);
  }

  void Process(const ProcessReport& process) {
    if (process.built_for.empty()) {
      Add(Severity::kUnknown, "no_rocksdb",
          "this deltabloom was built without RocksDB: whether programs can "
          "use the policy is not known",
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
          "check that this user may read it; restore a damaged file from a "
          "backup");
    }
    if (database.options_file.empty()) {
      Add(Severity::kUnknown, "no_options_file",
          database.path +
              ": has no OPTIONS file, so the policy it was last opened with is "
              "not known",
          "pass the directory that has the file CURRENT");
    }
    for (const FamilyOptions& family : database.options.families) {
      Family(family);
    }
    if (database.elsewhere > 0) {
      Add(Severity::kUnknown, "tables_elsewhere",
          database.path + ": " + Tables(database.elsewhere) +
              " not in this directory",
          "if they are in other directories (db_paths, cf_paths), deltabloom "
          "inspect lists their filters; otherwise they are lost");
    }
    Groups();
  }

 private:
  void Add(Severity severity, const char* code, std::string what,
           std::string to_do) {
    findings_.push_back({severity, code, std::move(what), std::move(to_do)});
  }

  const FamilyOptions* OptionsOf(const std::string& name) const {
    for (const FamilyOptions& family : database_->options.families) {
      if (family.name == name) return &family;
    }
    return nullptr;
  }

  void Family(const FamilyOptions& family) {
    const std::string who = FamilyText(family.name);
    if (!family.BlockBased()) {
      Add(Severity::kNote, "not_block_based",
          who + ": its tables are of " + family.table_factory +
              ", which have no such filters",
          "");
    } else if (!family.NamesPolicy()) {
      Add(Severity::kProblem, "options_without_policy",
          who + ": was last opened without a filter policy (" +
              database_->options_file + " of " +
              TimeText(database_->options_time) + ", RocksDB " +
              database_->options.rocksdb_version +
              "): the tables that this program writes have no filter, and any "
              "program that opens the database with these options does the "
              "same",
          "find the program. Programs that do not know the policy do this: ldb "
          "--try_load_options put or compact without the plugin under "
          "LD_PRELOAD, or programs with RocksDB linked into them. Then open "
          "the database in a program that sets the policy; or, while no "
          "program has it open, write filter_policy=deltabloom:10:auto into "
          "the newest OPTIONS file, in its [TableOptions/BlockBasedTable]");
    } else {
      Policy(who, family);
    }
  }

  void Policy(const std::string& who, const FamilyOptions& family) {
    PolicyVerdict verdict;
#ifdef DELTABLOOM_TOOLS_ROCKSDB
    verdict = JudgePolicy(family);
#endif
    if (verdict.unknown) {
      Add(Severity::kUnknown, "unknown_policy",
          who + ": no policy known here has the name " + family.policy +
              "; RocksDB silently treats an unknown policy as no filters",
          "check the name: Deltabloom's policy is deltabloom, as in "
          "deltabloom:10:auto");
    } else if (!family.NamesDeltabloom()) {
      Add(Severity::kNote, "other_policy",
          who + ": the policy is " + family.policy + ", not Deltabloom's", "");
    } else if (!verdict.problem.empty()) {
      Add(Severity::kProblem, "policy_cannot_work",
          who + ": filter_policy=" + family.policy + ": " + verdict.problem,
          verdict.to_do);
    } else if (!verdict.builds_filters) {
      without_filters_.insert(family.name);
      Add(Severity::kNote, "no_filter_by_choice",
          who + ": filter_policy=" + family.policy +
              " builds no filters: less than 0.5 bits per key",
          "");
    } else if (family.AllocatesByLevels() && !database_->options.has_listener) {
      Add(Severity::kProblem, "levels_without_listener",
          who +
              ": allocation=levels without its listener, so that all tables "
              "get the same bits per key",
          "add listeners=deltabloom to [DBOptions], or call "
          "AddRocksDBFilters()");
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
    std::map<std::pair<std::string, std::string>, TableGroup> with;
    for (const auto& [key, group] : database_->groups) {
      if (!key.filter.empty()) {
        with[{key.family, key.compatibility_name}].Add(group);
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
    for (const auto& [which, group] : without) {
      WithoutFilter(which.first, group, levels[which], which.second);
    }
    for (const auto& [which, group] : with) {
      WithFilter(which.first, which.second, group);
    }
  }

  void WithoutFilter(const std::string& name, const TableGroup& group,
                     const std::string& levels, bool chosen) {
    const FamilyOptions* const family = OptionsOf(name);
    if (family != nullptr && !family->BlockBased()) return;
    const std::string what = FamilyText(name) + ": no filter in " +
                             Tables(group.tables) + levels + ", of " +
                             Megabytes(group.bytes) + ", written " +
                             TimeText(group.oldest, group.newest);
    if (chosen) {
      Add(Severity::kNote, "no_filter_by_choice",
          what + (without_filters_.count(name) > 0
                      ? "; the policy builds none"
                      : "; optimize_filters_for_hits leaves them out of the "
                        "last level"),
          "");
      return;
    }
    Add(Severity::kProblem, "tables_without_filter",
        what + ": lookups of absent keys read their blocks",
        "with a policy in use, compactions give them filters when they rewrite "
        "them; at once: CompactRange() with "
        "bottommost_level_compaction=kForce, or, if the OPTIONS file names the "
        "policy and no program has the database open, ldb --db=" +
            database_->path +
            " --try_load_options compact with the plugin under LD_PRELOAD");
  }

  // A policy reads only filters under its own name.
  void WithFilter(const std::string& name, const std::string& compatibility,
                  const TableGroup& group) {
    const FamilyOptions* const family = OptionsOf(name);
    if (family == nullptr || !family->NamesPolicy()) return;
    const bool own = compatibility == kOwnName;
    if (own == family->OwnCompatibility()) return;
    Add(Severity::kProblem, "filters_not_asked",
        FamilyText(name) + ": the filters of " + Tables(group.tables) + " of " +
            Megabytes(group.bytes) + " are under the name " + compatibility +
            ", where the policy " +
            (own ? "does not look" : "with compatibility=own does not look"),
        "lookups do not use them until a compaction rewrites them; or go back "
        "to the compatibility they were written with");
  }

  const DatabaseReport* database_ = nullptr;
  std::set<std::string> without_filters_;  // families whose policy builds none
  std::vector<Finding> findings_;
};

}  // namespace

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

std::string TimeText(uint64_t oldest, uint64_t newest) {
  if (oldest == newest) return TimeText(oldest);
  return TimeText(oldest) + " to " + TimeText(newest);
}

std::vector<Finding> Findings(const ProcessReport& process,
                              const DatabaseReport* database) {
  Doctor doctor;
  doctor.Process(process);
  if (database != nullptr) doctor.Database(*database);
  return doctor.TakeFindings();
}

}  // namespace deltabloom::tools
