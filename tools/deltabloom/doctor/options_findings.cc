// Finds whether the options of column families name policies that work.
#include <string>

#include "tools/deltabloom/database/options_file.h"
#include "tools/deltabloom/database/policy_verdict.h"
#include "tools/deltabloom/database/reads.h"
#include "tools/deltabloom/doctor/findings.h"
#include "tools/deltabloom/doctor/process.h"
#include "tools/deltabloom/doctor/report.h"
#include "tools/deltabloom/doctor/text.h"

namespace deltabloom::tools {
namespace {

constexpr char kToDoWithoutPolicy[] =
    "find the program. Programs that do not know the policy do this: ldb "
    "--try_load_options put or compact without deltabloom run, which preloads "
    "the plugin, or programs with RocksDB linked into them. Then open the "
    "database in a program that sets the policy; or, while no program has it "
    "open, write filter_policy=deltabloom:10 into the newest OPTIONS file, in "
    "its [TableOptions/BlockBasedTable]. filter_policy=deltabloom:0 says that "
    "no filters are wanted";

// RocksDB 7.8 writes several collectors as a text that it cannot read.
void Collectors(const FamilyOptions& family, Findings* findings) {
  bool is_read = true;
#ifdef DELTABLOOM_TOOLS_ROCKSDB
  is_read = ReadsCollectors(family.collectors);
#endif
  if (is_read || !family.HasSeveralCollectors()) return;
  findings->Add(
      Severity::kProblem, "collectors_not_read",
      FamilyText(family.name) +
          ": the OPTIONS file has several table_properties_collectors, which "
          "this RocksDB writes but does not read: a program that opens the "
          "database with this file has none of them, and its tables have no "
          "range filters",
      "keep only deltabloom.range in this line, or add the collectors where "
      "the program sets its options");
}

// Tells what the OPTIONS file says of the column family.
void Named(const DatabaseReport& database, const FamilyOptions& family,
           Findings* findings) {
  const std::string who = FamilyText(family.name) + ": ";
  if (!family.BlockBased()) {
    findings->Add(Severity::kNote, "not_block_based",
                  who + "its tables are of " + family.table_factory +
                      ", which have no such filters");
    return;
  }
  if (!family.NamesPolicy()) {
    findings->Add(
        Severity::kProblem, "options_without_policy",
        who + "was last opened without a filter policy (" +
            database.options.name + " of " + TimeText(database.options.time) +
            ", RocksDB " + database.options.rocksdb_version +
            "): the tables that this program writes have no filter, and any "
            "program that opens the database with these options does the "
            "same",
        kToDoWithoutPolicy);
    return;
  }
  if (!family.comparator.empty() && !IsBytewise(family.comparator) &&
      !family.HasKeyTransform()) {
    findings->Add(
        Severity::kNote, "comparator_not_known",
        who + "its comparator, " + family.comparator +
            ", is not known here: if keys of different bytes are equal under "
            "it, filters hide keys, RocksDB's own too",
        "for such a comparator set key_transform (docs/guide.md), or no "
        "filter policy");
  }
}

// Tells what trying the policy showed.
void Tried(const FamilyOptions& family, const PolicyVerdict& verdict,
           Findings* findings) {
  const std::string who = FamilyText(family.name) + ": ";
  const std::string names_policy = who + "filter_policy=" + family.policy;
  if (verdict.unknown) {
    findings->Add(
        Severity::kUnknown, "unknown_policy",
        who + "no policy known here has the name " + family.policy +
            "; RocksDB silently treats an unknown policy as no filters",
        "check the name: Deltabloom's policy is deltabloom, as in "
        "deltabloom:10. Programs that take it from an OPTIONS file know it "
        "with deltabloom run PROGRAM, which preloads the plugin");
  } else if (verdict.unknown_transform) {
    findings->Add(
        Severity::kUnknown, "unknown_key_transform",
        names_policy +
            ": its key_transform is not known here, so whether the policy "
            "works is not known",
        "check that the program calls RegisterKeyTransform before it opens "
        "the database");
  } else if (!family.NamesDeltabloom()) {
    findings->Add(
        Severity::kNote, "other_policy",
        who + "the policy is " + family.policy + ", not Deltabloom's");
  } else if (!verdict.problem.empty()) {
    findings->Add(Severity::kProblem, "policy_cannot_work",
                  names_policy + ": " + verdict.problem, verdict.to_do);
  } else if (!verdict.builds_filters) {
    findings->Add(
        Severity::kNote, "no_filter_by_choice",
        names_policy + " builds no filters: less than 0.5 bits per key");
  } else if (!verdict.builds_in_last_level) {
    findings->Add(
        Severity::kNote, "no_filter_by_choice",
        names_policy +
            " builds no filters in the last level: less than 0.5 bits per "
            "key there");
  }
}

}  // namespace

void FindInOptions(const DatabaseReport& database, Findings* findings) {
  for (const FamilyOptions& family : database.options.families) {
    Named(database, family, findings);
    if (family.BlockBased() && family.NamesPolicy()) {
      Tried(family, database.VerdictOf(family.name), findings);
    }
    Collectors(family, findings);
  }
}

}  // namespace deltabloom::tools
