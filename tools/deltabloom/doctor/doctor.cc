// deltabloom doctor: whether databases run with filters, and what to do if not.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "tools/deltabloom/commands.h"
#include "tools/deltabloom/database/database.h"
#include "tools/deltabloom/doctor/findings.h"
#include "tools/deltabloom/doctor/process.h"
#include "tools/deltabloom/doctor/report.h"
#include "tools/deltabloom/doctor/show.h"
#include "tools/deltabloom/tables/table_files.h"
#include "tools/program/console.h"
#include "tools/program/program.h"
#include "util/cpu.h"

namespace deltabloom::tools {
namespace {

ExitCode RunDoctor(const std::string& path,
                   const std::vector<std::string>& paths, Console* console) {
  ProcessReport process;
  process.cpu = internal::CpuName(internal::ActiveCpu());
#ifdef DELTABLOOM_TOOLS_ROCKSDB
  ReadRocksDB(&process);
#endif
  Findings findings;
  FindInProcess(process, &findings);
  if (path.empty()) {
    ShowProcess(process, console);
    return findings.Show(console);
  }
  const DatabaseReport database = ReportOf(ReadDatabase(path, paths, console));
  FindInFolder(database, &findings);
  FindInOptions(database, &findings);
  FindInFilters(database, &findings);
  FindInCaches(database, &findings);
  ShowProcess(process, console);
  ShowDatabase(database, console);
  return findings.Show(console);
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

constexpr char kDoctorDescription[] = R"(
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

}  // namespace

Command DoctorCommand() {
  Command command = {"doctor", "Check whether a database is run with filters",
                     AddDoctorOptions};
  Manual& manual = command.manual;
  manual.description = kDoctorDescription;
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
