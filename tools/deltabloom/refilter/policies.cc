#include "tools/deltabloom/refilter/policies.h"

#include <filesystem>
#include <string>
#include <system_error>

#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/base/options.h"
#include "tools/deltabloom/database/options_file.h"
#include "tools/deltabloom/refilter/table.h"
#include "tools/deltabloom/tables/read_table.h"
#include "tools/program/console.h"

namespace deltabloom::tools {
namespace {

namespace fs = std::filesystem;

void CheckVersion(const std::string& database, const OptionsFile& file) {
  if (!file.IsOfLaterRocksDB()) return;
  Check(database + ": was last opened by RocksDB " + file.rocksdb_version +
        ", and which keys and prefixes a filter must hold is known up to " +
        LastKnownRocksDB() +
        " only: take a Deltabloom that knows this version. With --untested "
        "the filters are replaced nevertheless, and lookups lose the keys and "
        "prefixes that this RocksDB alone puts into filters");
}

// Throws what is wrong with the OPTIONS file if there is no --filter.
void CheckOptionsFile(const std::string& database, const std::string& problem) {
  if (problem.empty()) return;
  std::error_code unknown;
  const bool is_rocksdb = fs::exists(fs::path(database) / "IDENTITY", unknown);
  Check(is_rocksdb ? problem + ": use --filter"
                   : problem +
                         " and no file IDENTITY: if it is LevelDB's, its "
                         "filters stay; if it is RocksDB's, use --filter");
}

// Adds the column family to the policies.
void AddFamily(const FamilyOptions& family, const RefilterOptions& given,
               bool is_given, Policies* policies, Console* console) {
  RefilterOptions& options =
      policies->families.emplace(family.name, given).first->second;
  if (!family.NamesDeltabloom()) {
    const std::string opened =
        "last opened with filter_policy=" +
        (family.NamesPolicy() ? family.policy : "nullptr") +
        ", which does not use Deltabloom's filters";
    if (is_given) {
      policies->without_policy[family.name] = opened;
    } else {
      options.problem = "its column family was " + opened +
                        ": roll the policy out first, or use --filter";
    }
    return;
  }
  internal::PolicyOptions policy;
  const std::string error = ParseFilter(family.policy, &policy);
  if (!error.empty() && (!is_given || family.OwnCompatibility())) {
    options.problem = "the policy of its column family: " + error;
  } else if (!is_given) {
    options.filter = policy;
  } else if (policy.key_transform != options.filter.key_transform) {
    // They would turn nothing away, and the old ones do.
    options.problem = "the policy of its column family has key_transform=" +
                      policy.key_transform +
                      ", for which filters with key_transform=" +
                      options.filter.key_transform + " match every key";
  } else if (policy.seeded && !options.filter.seeded) {
    console->Error("warning: column family " + family.name +
                   " was last opened with seeded=on, which the new filters "
                   "lack: name it in --filter");
  }
  // The rates of the filters that stay are those for the policy.
  if (!options.problem.empty()) options.filter = policy;
}

}  // namespace

std::string ParseFilter(const std::string& text,
                        internal::PolicyOptions* options) {
  *options = {};
  std::string error = internal::ParsePolicyOptions(text, options);
  if (error.empty()) error = options->Validate();
  if (error.empty() && options->compatibility == RocksDBCompatibility::kOwn) {
    error =
        "compatibility=own has another name, which does not fit into the "
        "tables";
  }
  return error;
}

const RefilterOptions& Policies::Of(const std::string& family) const {
  const auto found = families.find(family);
  return found == families.end() ? others : found->second;
}

Policies ReadPolicies(const std::string& database,
                      const RefilterOptions& options, bool is_given,
                      Console* console) {
  OptionsFile file;
  std::string problem = ReadNewestOptionsFile(database, &file);
  if (problem.empty() && file.name.empty()) {
    problem = database + ": has no OPTIONS file";
  }
  if (!options.untested) CheckVersion(database, file);
  Policies policies;
  policies.others = options;
  if (!is_given) {
    CheckOptionsFile(database, problem);
    policies.others.problem =
        "no OPTIONS file names the policy of its column family: use --filter";
  } else if (!problem.empty()) {
    console->Error("warning: " + problem +
                   ": if the policy has key_transform or seeded, name them "
                   "in --filter");
  }
  bool any = is_given;
  for (const FamilyOptions& family : file.families) {
    AddFamily(family, options, is_given, &policies, console);
    any = any || family.NamesDeltabloom();
  }
  if (!any) {
    Check(database +
          ": no column family was last opened with Deltabloom's policy, and "
          "others do not use its filters: roll the policy out first, or name "
          "the filters by --filter if that is still to come");
  }
  return policies;
}

}  // namespace deltabloom::tools
