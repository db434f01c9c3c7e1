// deltabloom doctor: whether databases run with filters, and what to do if not.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/deltabloom/command.h"
#include "tools/deltabloom/doctor_output.h"
#include "tools/deltabloom/doctor_report.h"

namespace deltabloom::tools {
namespace {

ExitCode Run(const std::string& path, Console* console) {
  const ProcessReport process = LookAtProcess();
  std::optional<DatabaseReport> database;
  if (!path.empty()) {
    database = LookAtDatabase(
        path,
        [](uint64_t done, uint64_t all, const std::string& name, void* data) {
          static_cast<Console*>(data)->ShowProgress(done, all, "files", name);
        },
        console);
  }
  const DatabaseReport* const report =
      database.has_value() ? &*database : nullptr;
  const std::vector<Finding> findings = Findings(process, report);
  ShowReport(process, report, findings, console);
  if (findings.empty()) return kSuccess;
  switch (findings.front().severity) {  // the worst
    case Severity::kProblem:
      return kFailure;
    case Severity::kUnknown:
      return kUndecided;
    case Severity::kNote:
      break;
  }
  return kSuccess;
}

RunFn AddOptions(CLI::App* app) {
  const auto path = std::make_shared<std::string>();
  app->add_option("--db", *path,
                  "The directory of a RocksDB database; without it only this "
                  "process is looked at")
      ->type_name("DIR")
      ->check(CLI::ExistingDirectory);
  return [path](Console* console) { return Run(*path, console); };
}

Manual MakeManual() {
  Manual manual;
  manual.description = {
      "Tells whether a database is run with filters. RocksDB takes a policy "
      "that it does not know for none, and says nothing: lookups then read "
      "every block that may hold a key.",
      "Of this process: the versions of Deltabloom, of the RocksDB it was "
      "built for and of the one that is loaded, the instructions that its "
      "kernels use, and whether a filter policy can be made, which a program "
      "with the same libraries can then, too.",
      "Of the database: the newest OPTIONS file, which RocksDB writes whenever "
      "it opens a database or changes its options, and so the policy that each "
      "column family was last opened with; the MANIFEST, and so the tables it "
      "has and their levels; and of each table, by its footer and properties, "
      "who wrote its filter, or that it has none, its size, and when it was "
      "written. Filters themselves are not read: that is deltabloom inspect "
      "and verify. Tables in other directories (db_paths, cf_paths) are "
      "counted, not looked at.",
      "Programs that do not know the policy leave a database without: ldb "
      "--try_load_options put or compact without the plugin, say, or one with "
      "RocksDB linked into it, writes filter_policy=nullptr into the OPTIONS "
      "file, and tables without filters.",
      "Nothing is written and no database is opened: running databases, copies "
      "and read-only media can be looked at. Tables that vanish meanwhile or "
      "are being written are counted.",
      "The document of --json has \"process\", \"database\" (with --db: "
      "\"column_families\" and \"tables\", the latter counted by column "
      "family, level and who wrote their filters; times are seconds since "
      "1970) "
      "and \"findings\", the worst first. A finding has \"severity\": "
      "\"problem\", \"unknown\" or \"note\", a \"code\" that stays the same "
      "over releases, \"what\" and \"to_do\". Codes of problems are "
      "no_policy_in_process, options_without_policy, tables_without_filter, "
      "filters_not_asked and levels_without_listener. What is not known is "
      "null."};
  manual.examples = {
      {"deltabloom doctor", "whether programs here can have the policy"},
      {"deltabloom doctor --db /var/lib/db",
       "and whether this database has it"},
      {"deltabloom doctor --json --db /var/lib/db | jq -r "
       "'.findings[] | select(.severity == \"problem\").code'",
       "for a monitor"}};
  manual.success =
      "the policy can be made, every column family names one, and every table "
      "has a filter";
  manual.failure = "a problem was found";
  manual.undecided =
      "no problem was found, but something could not be looked at";
  manual.environment = {
      {"DELTABLOOM_CPU",
       "portable, avx2 or avx512: the instructions that kernels of "
       "Deltabloom's filters may use at most."}};
  return manual;
}

}  // namespace

Implementation DoctorCommand() {
  Implementation command;
  command.manual = MakeManual();
  command.add_options = AddOptions;
  return command;
}

}  // namespace deltabloom::tools
