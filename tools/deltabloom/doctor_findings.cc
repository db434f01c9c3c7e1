// What deltabloom doctor makes of what it has seen.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string>
#include <utility>

#include "tools/deltabloom/doctor_report.h"

namespace deltabloom::tools {
namespace {

// Of Deltabloom's policy with compatibility=own.
constexpr char kOwnName[] = "deltabloom.SealedFilter";

std::string Megabytes(uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f MB",
                static_cast<double>(bytes) / 1e6);
  return text;
}

std::string FamilyText(const std::string& name) {
  return name.empty() ? "tables that name no column family"
                      : "column family " + name;
}

class Doctor {
 public:
  std::vector<Finding> TakeFindings() {
    std::stable_sort(findings_.begin(), findings_.end(),
                     [](const Finding& a, const Finding& b) {
                       return a.severity > b.severity;
                     });
    return std::move(findings_);
  }

  void Process(const ProcessReport& process) {
    if (process.built_for.empty()) {
      Add(Severity::kUnknown, "no_rocksdb",
          "this deltabloom was built without RocksDB: whether programs can "
          "have the policy is not known",
          "build it with librocksdb-dev and -DDELTABLOOM_ROCKSDB=ON");
    } else if (!process.problem.empty()) {
      Add(Severity::kProblem, "no_policy_in_process", process.problem,
          "until then every program with this Deltabloom and this RocksDB is "
          "without a filter policy");
    }
  }

  void Database(const DatabaseReport& database) {
    database_ = &database;
    for (const std::string& problem : database.problems) {
      Add(Severity::kUnknown, "unreadable", problem,
          "see that this user may read it; a damaged table is to be restored "
          "from a backup");
    }
    if (database.options_file.empty() && database.problems.empty()) {
      Add(Severity::kUnknown, "no_options_file",
          database.path +
              ": has no OPTIONS file, so which policy it was last "
              "opened with is not known",
          "name the directory that has the file CURRENT");
    }
    for (const FamilyOptions& family : database.options.families) {
      Family(family);
    }
    for (const auto& [key, group] : database.groups) {
      if (key.filter.empty()) {
        WithoutFilter(key.family, group);
      } else {
        WithFilter(key, group);
      }
    }
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
              "): the tables that such a program writes have no filter, and "
              "what opens the database with these options goes on so",
          "find the program. Those that do not know the policy do this: ldb "
          "--try_load_options put or compact without the plugin under "
          "LD_PRELOAD, programs with a RocksDB of their own linked into them. "
          "Then open the database with the policy by a call; or, while no "
          "program has it open, write filter_policy=deltabloom:10:auto into "
          "the file, in [TableOptions/BlockBasedTable \"" +
              family.name + "\"]");
    } else if (!family.NamesDeltabloom()) {
      Add(Severity::kNote, "other_policy",
          who + ": the policy is " + family.policy + ", not Deltabloom's", "");
    } else if (family.AllocatesByLevels() && !database_->options.has_listener) {
      Add(Severity::kProblem, "levels_without_listener",
          who +
              ": allocation=levels without its listener, so that all tables "
              "get the same bits per key",
          "add listeners=deltabloom to [DBOptions], or call "
          "AddRocksDBFilters()");
    }
  }

  void WithoutFilter(const std::string& name, const TableGroup& group) {
    const FamilyOptions* const family = OptionsOf(name);
    if (family != nullptr && !family->BlockBased()) return;
    const std::string what = FamilyText(name) + ": no filter in " +
                             std::to_string(group.tables) +
                             (group.tables == 1 ? " table" : " tables") +
                             " of " + Megabytes(group.bytes) + ", written " +
                             TimeText(group.oldest, group.newest);
    if (family != nullptr && family->optimize_filters_for_hits) {
      Add(Severity::kNote, "no_filter_by_choice",
          what +
              "; optimize_filters_for_hits leaves them out of the last level",
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

  // A policy looks for filters under its own name only.
  void WithFilter(const GroupKey& key, const TableGroup& group) {
    const FamilyOptions* const family = OptionsOf(key.family);
    if (family == nullptr || !family->NamesPolicy()) return;
    const bool own = key.compatibility_name == kOwnName;
    if (own == family->OwnCompatibility()) return;
    Add(Severity::kProblem, "filters_not_asked",
        FamilyText(key.family) + ": the filters of " +
            std::to_string(group.tables) +
            (group.tables == 1 ? " table" : " tables") + " of " +
            Megabytes(group.bytes) + " are under the name " +
            key.compatibility_name + ", where the policy " +
            (own ? "does not look" : "with compatibility=own does not look"),
        "they are not asked until a compaction rewrites them; or go back to "
        "the compatibility they were written with");
  }

  const DatabaseReport* database_ = nullptr;
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
