// deltabloom doctor: whether databases run with filters, and what to do if not.
#include "tools/deltabloom/doctor.h"

#include <memory>
#include <optional>

#include "tools/deltabloom/command.h"
#include "util/cpu.h"
#include "util/version.h"

namespace deltabloom::tools {
namespace {

const char* SeverityName(Severity severity) {
  switch (severity) {
    case Severity::kNote:
      return "note";
    case Severity::kUnknown:
      return "unknown";
    case Severity::kProblem:
      return "problem";
  }
  return "";
}

Json TextOrNull(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

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

Json ToJson(const DatabaseReport& database) {
  Json json = {
      {"path", database.path},
      {"options_file", TextOrNull(database.options_file)},
      {"options_time", TimeOrNull(database.options_time)},
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
  }
  for (const auto& [key, group] : database.groups) {
    json["tables"].push_back(
        {{"column_family", TextOrNull(key.family)},
         {"level", key.level < 0 ? Json() : Json(key.level)},
         {"filter", TextOrNull(key.filter)},
         {"compatibility_name", TextOrNull(key.compatibility_name)},
         {"tables", group.tables},
         {"bytes", group.bytes},
         {"entries", group.entries},
         {"filter_bytes", group.filter_bytes},
         {"oldest", TimeOrNull(group.oldest)},
         {"newest", TimeOrNull(group.newest)}});
  }
  return json;
}

Json ToJson(const std::vector<Finding>& findings) {
  Json json = Json::array();
  for (const Finding& finding : findings) {
    json.push_back({{"severity", SeverityName(finding.severity)},
                    {"code", finding.code},
                    {"what", finding.what},
                    {"to_do", TextOrNull(finding.to_do)}});
  }
  return json;
}

void Show(const ProcessReport& process, Console* console) {
  std::string rocksdb = ", built without RocksDB";
  if (!process.built_for.empty()) {
    rocksdb = ", built for RocksDB " + process.built_for + "; loaded is " +
              process.loaded + " from ";
    for (const std::string& path : process.libraries) {
      rocksdb += (&path == &process.libraries[0] ? "" : ", ") + path;
    }
  }
  console->Line(std::string("deltabloom ") + internal::kVersion + rocksdb);
  console->Line("kernels for this CPU: " + process.cpu);
  if (process.built_for.empty()) return;
  console->Line(std::string("filter policy in this process: ") +
                (process.problem.empty() ? "can be made" : "none"));
}

void Show(const DatabaseReport& database, Console* console) {
  console->Line("");
  console->Line(
      database.path + ": " +
      (database.options_file.empty()
           ? "no OPTIONS file"
           : database.options_file + " of " + TimeText(database.options_time) +
                 ", written by RocksDB " + database.options.rocksdb_version));
  for (const FamilyOptions& family : database.options.families) {
    console->Line("  column family " + family.name + ": " +
                  (family.policy.empty() ? "names no filter_policy"
                                         : "filter_policy=" + family.policy));
  }
  std::vector<std::vector<std::string>> rows = {{"  column family", "filters",
                                                 "level", "tables", "size",
                                                 "filter size", "written"}};
  for (const auto& [key, group] : database.groups) {
    rows.push_back({"  " + (key.family.empty() ? "-" : key.family),
                    key.filter.empty() ? "none" : key.filter,
                    key.level < 0 ? "-" : std::to_string(key.level),
                    std::to_string(group.tables), Megabytes(group.bytes),
                    Megabytes(group.filter_bytes),
                    TimeText(group.oldest, group.newest)});
  }
  if (rows.size() > 1) console->Table(rows, 2);
  const auto counted = [console](uint64_t tables, const char* what) {
    if (tables > 0) {
      console->Line("  " + Count(tables, "table ", "tables ") + what);
    }
  };
  counted(database.unused, "not part of the database, or not yet");
  counted(database.gone, "gone meanwhile");
  counted(database.unfinished, "being written");
}

void Show(const std::vector<Finding>& findings, Console* console) {
  console->Line("");
  if (findings.empty()) console->Line("no problem found");
  for (size_t i = 0; i < findings.size(); ++i) {
    const std::string& to_do = findings[i].to_do;
    console->Line(std::string(SeverityName(findings[i].severity)) + ": " +
                  findings[i].what);
    // Once for all column families.
    if (i + 1 < findings.size() && findings[i + 1].to_do == to_do) continue;
    if (!to_do.empty()) console->Line("  to do: " + to_do);
  }
}

// A part of the report, as a member of the document or as text.
template <typename Part>
void ShowPart(const char* key, const Part& part, Console* console) {
  if (console->json() != nullptr) {
    console->json()->Add(key, ToJson(part));
  } else {
    Show(part, console);
  }
}

ExitCode Run(const std::string& path, Console* console) {
  ProcessReport process;
  process.cpu =
      internal::CpuLevelName(internal::LevelOf(internal::ActiveCpu()));
#ifdef DELTABLOOM_TOOLS_ROCKSDB
  ReadRocksDB(&process);
#endif
  std::optional<DatabaseReport> database;
  if (!path.empty()) {
    database = ReadDatabase(
        path, [console](uint64_t done, uint64_t all, const std::string& name) {
          console->ShowProgress(done, all, "files", name);
        });
  }
  const std::vector<Finding> findings =
      Findings(process, database.has_value() ? &*database : nullptr);
  ShowPart("process", process, console);
  if (database.has_value()) ShowPart("database", *database, console);
  ShowPart("findings", findings, console);
  if (findings.empty() || findings[0].severity == Severity::kNote) {
    return kSuccess;
  }
  return findings[0].severity == Severity::kProblem ? kFailure : kUndecided;
}

RunFn AddOptions(CLI::App* app) {
  const auto path = std::make_shared<std::string>();
  app->add_option("--db", *path,
                  "The directory of a RocksDB database; without it only this "
                  "process is examined")
      ->type_name("DIR")
      ->check(CLI::ExistingDirectory);
  return [path](Console* console) { return Run(*path, console); };
}

Manual MakeManual() {
  Manual manual;
  manual.description = {
      "Checks whether a database is run with filters. RocksDB silently treats "
      "an unknown policy as no filters: lookups then read every block that may "
      "hold a key.",
      "For this process it shows the versions of Deltabloom, of the RocksDB it "
      "was built for and of the one that is loaded, the instructions that the "
      "kernels use, and whether a filter policy can be created; programs with "
      "the same libraries can then create it as well.",
      "For the database it reads the newest OPTIONS file, which RocksDB writes "
      "whenever it opens a database or changes its options, for the policy "
      "that each column family was last opened with, and checks that this "
      "policy can work; the MANIFEST, for the tables and their levels; and "
      "the footer and properties of each table, for the policy that wrote its "
      "filter, its size, and when it was written. Filters themselves are not "
      "read: deltabloom inspect and verify do that. Tables in other "
      "directories (db_paths, cf_paths) are counted only.",
      "Programs that do not know the policy leave a database without filters: "
      "for example ldb --try_load_options put or compact without the plugin, "
      "or a program with RocksDB linked into it, writes filter_policy=nullptr "
      "into the OPTIONS file, and tables without filters.",
      "Nothing is written and no database is opened, so running databases, "
      "copies and read-only media can be examined. Tables that vanish "
      "meanwhile or are being written are counted.",
      "The document of --json has \"process\", \"database\" (with --db: "
      "\"column_families\" and \"tables\", the latter counted by column "
      "family, level and policy of their filters; times are seconds since "
      "1970) and \"findings\", the worst first. A finding has \"severity\": "
      "\"problem\", \"unknown\" or \"note\", a \"code\" that stays the "
      "same in all releases, \"what\" and \"to_do\". Codes of problems are "
      "no_policy_in_process, options_without_policy, policy_cannot_work, "
      "tables_without_filter, filters_not_asked and levels_without_listener. "
      "Unknown values are null."};
  manual.examples = {
      {"deltabloom doctor", "whether programs here can use the policy"},
      {"deltabloom doctor --db /var/lib/db",
       "and whether this database uses it"},
      {"deltabloom doctor --json --db /var/lib/db | jq -r "
       "'.findings[] | select(.severity == \"problem\").code'",
       "for a monitor"}};
  manual.success =
      "the policy can be created, every column family names a policy, and "
      "every table has a filter";
  manual.failure = "a problem was found";
  manual.undecided =
      "no problem was found, but something could not be examined";
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
