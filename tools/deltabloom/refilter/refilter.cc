// deltabloom refilter: better filters in the tables of a database, within the
// bytes of the old ones.
#include "tools/deltabloom/refilter/refilter.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/base/options.h"
#include "engines/rocksdb/base/options_file.h"
#include "tools/deltabloom/commands.h"
#include "tools/deltabloom/database/manifest.h"
#include "tools/deltabloom/database/options_file.h"
#include "tools/deltabloom/database/reads.h"
#include "tools/deltabloom/tables/read_table.h"
#include "tools/deltabloom/tables/table_files.h"
#include "tools/program/console.h"
#include "tools/program/program.h"

namespace deltabloom::tools {
namespace {

namespace fs = std::filesystem;

struct RefilterCommandOptions : RefilterOptions {
  std::string database;
  std::vector<std::string> paths;
  std::string uri;  // of --filter; empty: by the policies of the database
  bool dry_run = false;
  uint64_t jobs = 1;
};

// The names are in the order of Outcome.
constexpr const char* kOutcomes[] = {"planned", "replaced", "no_gain",
                                     "left",    "failed",   "gone"};

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

std::string RateText(const std::optional<double>& rate) {
  return rate.has_value() ? Percent(*rate) : "?";
}

// Whether SIGINT or SIGTERM came.
volatile std::sig_atomic_t interrupted = 0;
std::atomic<bool>* stop_at_interrupt = nullptr;

// Only calls what a signal handler may call.
void Interrupt(int signal) {
  constexpr char kLine[] =
      "\ndeltabloom refilter: interrupted: unfinished copies are removed, the "
      "tables that were not replaced stay as they were, and the next run goes "
      "on from there\n";
  interrupted = 1;
  stop_at_interrupt->store(true);
  if (::write(STDERR_FILENO, kLine, sizeof(kLine) - 1) < 0) return;
  std::signal(signal, SIG_DFL);  // the next one ends the program
}

// While it lives, SIGINT and SIGTERM set *stop, unless they are ignored.
class StopAtInterrupt {
 public:
  explicit StopAtInterrupt(std::atomic<bool>* stop) {
    stop_at_interrupt = stop;
    for (const int signal : {SIGINT, SIGTERM}) {
      if (std::signal(signal, Interrupt) == SIG_IGN) {
        std::signal(signal, SIG_IGN);
      }
    }
  }
  ~StopAtInterrupt() {
    for (const int signal : {SIGINT, SIGTERM}) {
      if (std::signal(signal, SIG_DFL) == SIG_IGN) {
        std::signal(signal, SIG_IGN);
      }
    }
  }
  StopAtInterrupt(const StopAtInterrupt&) = delete;
};

class RefilterRun {
 public:
  RefilterRun(const RefilterCommandOptions& options, Console* console)
      : options_(options),
        console_(console),
        directories_(DirectoriesOf(options.database, options.paths)) {}

  ExitCode All() {
    std::shared_ptr<void> lock;
    // The lock is a file, which a folder without a database does not get.
    Manifest ignored;
    Check(ReadManifest(options_.database, &ignored));
    ReadPolicies();
    if (!options_.dry_run) {
      std::string error;
      lock = LockDatabase(options_.database, &error);
      Check(error);
    }
    if (!options_.keep_old.empty() && !options_.dry_run) MakeKeepOld();
    FindTables();
    if (!options_.keep_old.empty() && !options_.dry_run) TryKeepOld();
    const StopAtInterrupt handler(&stop_);
    console_->StartArray("files");
    ForEachTable([&](size_t, RefilterTable* table) {
      if (!table->reason.empty()) return;
      if (stop_) {
        table->reason = "the run was stopped";
      } else {
        PlanRefilter(OptionsOf(*table), table);
      }
    });
    SetShares();
    if (!options_.dry_run) PrepareTemporaries();
    ForEachTable([&](size_t job, RefilterTable* table) {
      const bool planned = table->outcome == Outcome::kPlanned;
      if (planned && !options_.dry_run) {
        const fs::path directory = fs::path(table->path).parent_path();
        Refilter(OptionsOf(*table),
                 NumberedPath(directory.string(), temporaries_[job], "dbtmp"),
                 &stop_, table);
      }
      const std::lock_guard<std::mutex> guard(mutex_);
      if (table->outcome == Outcome::kFailed && IsGone(*table)) {
        table->outcome = Outcome::kGone;
      }
      Show(*table);
    });
    return Summarize();
  }

 private:
  void MakeKeepOld() {
    fs::path made = fs::absolute(options_.keep_old);
    fs::path existing = made;
    while (!fs::exists(existing)) existing = existing.parent_path();
    std::error_code error;
    fs::create_directories(made, error);
    if (error) {
      Check(made.string() + ": cannot be made a directory: " + error.message());
    }
    while (made != existing) {
      made = made.parent_path();
      if (!SyncDirectory(made)) Check(made.string() + ": cannot be synced");
    }
    for (const std::string& directory : directories_) {
      if (!fs::equivalent(options_.keep_old, directory)) continue;
      Check(options_.keep_old +
            ": expected a directory other than those of the tables");
    }
  }

  // Throws unless tables of each directory can be linked there.
  void TryKeepOld() const {
    std::set<fs::path> tried;
    for (const RefilterTable& table : tables_) {
      const fs::path path = table.path;
      std::error_code error;
      if (!fs::is_regular_file(path, error) ||
          !tried.insert(path.parent_path()).second) {
        continue;
      }
      const fs::path link = fs::path(options_.keep_old) / "deltabloom.try";
      fs::remove(link, error);
      fs::create_hard_link(path, link, error);
      if (error) {
        Check(options_.keep_old + ": tables of " + path.parent_path().string() +
              " cannot be linked there: " + error.message() +
              ". Name a directory of the same file system");
      }
      fs::remove(link, error);
    }
  }

  // Reads the policies that the tables of each column family get: that of
  // --filter, or those that the newest OPTIONS file names. Throws if all
  // filters would stay.
  void ReadPolicies() {
    OptionsFile file;
    const bool by_policy = options_.uri.empty();
    std::string problem = ReadNewestOptionsFile(options_.database, &file);
    if (problem.empty() && file.name.empty()) {
      problem = options_.database + ": has no OPTIONS file";
    }
    CheckVersion(file);
    others_ = options_;
    if (by_policy) {
      std::error_code unknown;
      const bool is_rocksdb =
          fs::exists(fs::path(options_.database) / "IDENTITY", unknown);
      Check(problem.empty() ? ""
            : is_rocksdb
                ? problem + ": use --filter"
                : problem +
                      " and no file IDENTITY: if it is LevelDB's, its "
                      "filters stay; if it is RocksDB's, use --filter");
      others_.problem =
          "no OPTIONS file names the policy of its column family: use --filter";
    } else if (!problem.empty()) {
      console_->Error("warning: " + problem +
                      ": if the policy has key_transform or seeded, name them "
                      "in --filter");
    }
    bool any = !by_policy;
    for (const FamilyOptions& family : file.families) {
      ReadPolicy(family);
      any = any || family.NamesDeltabloom();
    }
    if (any) return;
    Check(options_.database +
          ": no column family was last opened with Deltabloom's policy, and "
          "others do not use its filters: roll the policy out first, or name "
          "the filters by --filter if that is still to come");
  }

  void CheckVersion(const OptionsFile& file) const {
    if (options_.untested || !file.IsOfLaterRocksDB()) return;
    Check(options_.database + ": was last opened by RocksDB " +
          file.rocksdb_version +
          ", and which keys and prefixes a filter must hold is known up to "
          "11.12 only: take a Deltabloom that knows this version. With "
          "--untested the filters are replaced nevertheless, and lookups lose "
          "the keys and prefixes that this RocksDB alone puts into filters");
  }

  void ReadPolicy(const FamilyOptions& family) {
    const bool by_policy = options_.uri.empty();
    RefilterOptions& options =
        families_.emplace(family.name, options_).first->second;
    if (!family.NamesDeltabloom()) {
      const std::string opened =
          "last opened with filter_policy=" +
          (family.NamesPolicy() ? family.policy : "nullptr") +
          ", which does not use Deltabloom's filters";
      if (by_policy) {
        options.problem = "its column family was " + opened +
                          ": roll the policy out first, or use --filter";
      } else {
        without_policy_[family.name] = opened;
      }
      return;
    }
    internal::PolicyOptions policy;
    const std::string error = ParseFilter(family.policy, &policy);
    if (!error.empty() && (by_policy || family.OwnCompatibility())) {
      options.problem = "the policy of its column family: " + error;
    } else if (by_policy) {
      options.filter = policy;
    } else if (policy.key_transform != options_.filter.key_transform) {
      // They would turn nothing away, and the old ones do.
      options.problem = "the policy of its column family has key_transform=" +
                        policy.key_transform +
                        ", for which filters with key_transform=" +
                        options_.filter.key_transform + " match every key";
    } else if (policy.seeded && !options_.filter.seeded) {
      console_->Error("warning: column family " + family.name +
                      " was last opened with seeded=on, which the new filters "
                      "lack: name it in --filter");
    }
    // The rates of the filters that stay are those for the policy.
    if (!options.problem.empty()) options.filter = policy;
  }

  const RefilterOptions& OptionsOf(const RefilterTable& table) const {
    const auto found = families_.find(table.family);
    return found == families_.end() ? others_ : found->second;
  }

  // Fills in tables_.
  void FindTables() {
    Manifest manifest;
    Check(ReadManifest(options_.database, &manifest));
    std::map<uint32_t, uint32_t> last_levels;
    for (const auto& [number, live] : manifest.tables()) {
      uint32_t& last = last_levels[live.family];
      last = std::max(last, live.level);
    }
    for (const auto& [number, live] : manifest.tables()) {
      RefilterTable table;
      table.family = manifest.FamilyName(live.family);
      table.level = static_cast<int>(std::min(live.level, 1000u));
      table.bottommost =
          live.level > 0 && live.level == last_levels[live.family];
      table.size = live.size;
      table.has_checksum = live.has_checksum;
      table.first_key = live.first_key;
      table.last_key = live.last_key;
      const std::vector<std::string> found = FindTable(directories_, number);
      table.path = found.empty()
                       ? NumberedPath(options_.database, number, "sst")
                       : found[0];
      if (found.empty()) {
        table.reason = "it is not there: name its directory by --path";
      } else if (found.size() > 1) {
        table.reason = "there is another file of this name, " + found[1];
      }
      if (!table.reason.empty()) table.outcome = Outcome::kFailed;
      tables_.push_back(std::move(table));
    }
  }

  void SetShares() {
    std::map<std::string, std::vector<RefilterTable*>> families;
    for (RefilterTable& table : tables_) {
      families[table.family].push_back(&table);
    }
    for (const auto& [name, tables] : families) {
      std::vector<TableInTree> tree;
      for (const RefilterTable* table : tables) {
        tree.push_back({table->level, static_cast<double>(table->tree_keys),
                        table->first_key, table->last_key});
      }
      const std::vector<double> shares =
          SharesOfLookups(tree, tables[0]->bytewise);
      for (size_t i = 0; i < shares.size(); ++i) {
        tables[i]->share_of_lookups = shares[i];
      }
    }
  }

  // RocksDB deletes a file only after the MANIFEST says so.
  bool IsGone(const RefilterTable& table) const {
    Manifest now;
    std::error_code unknown;
    return options_.dry_run &&
           fs::symlink_status(table.path, unknown).type() ==
               fs::file_type::not_found &&
           ReadManifest(options_.database, &now).empty() &&
           now.tables().count(NumberOfName(table.path)) == 0;
  }

  // RocksDB deletes NUMBER.dbtmp when it opens the database, unless a table
  // has that number. Low numbers are in use no more.
  void PrepareTemporaries() {
    std::set<uint64_t> used;
    for (const std::string& directory : directories_) {
      for (const auto& entry : fs::directory_iterator(directory)) {
        const uint64_t number = NumberOfName(entry.path().string());
        if (number != 0 && entry.path().extension() == ".dbtmp") {
          fs::remove(entry.path());  // left by a run that was killed
        } else {
          used.insert(number);
        }
      }
    }
    for (uint64_t number = 1; temporaries_.size() < options_.jobs; ++number) {
      if (used.count(number) == 0) temporaries_.push_back(number);
    }
  }

  // Calls fn for the tables, in `jobs` threads, with the number of the thread.
  void ForEachTable(const std::function<void(size_t, RefilterTable*)>& fn) {
    std::atomic<size_t> next{0};
    const auto work = [&](size_t job) {
      for (size_t i; (i = next++) < tables_.size();) {
        {
          const std::lock_guard<std::mutex> guard(mutex_);
          console_->ShowProgress(i, tables_.size(), "tables", tables_[i].path);
        }
        fn(job, &tables_[i]);
      }
    };
    const size_t jobs = std::min<size_t>(options_.jobs, tables_.size());
    std::vector<std::thread> threads;
    for (size_t job = 1; job < jobs; ++job) {
      try {
        threads.emplace_back(work, job);
      } catch (const std::system_error&) {
        break;  // as many as the system allows
      }
    }
    work(0);
    for (std::thread& thread : threads) thread.join();
  }

  void Show(const RefilterTable& table) {
    Json json = {{"file", table.path},
                 {"column_family", table.family},
                 {"level", table.level},
                 {"result", kOutcomes[static_cast<size_t>(table.outcome)]},
                 {"reason", TextOrNull(table.reason)},
                 {"keys", table.keys},
                 {"filter_bytes", table.filter_bytes},
                 {"before",
                  {{"filter", TextOrNull(table.before)},
                   {"rate", NumberOrNull(table.rate_before)}}},
                 {"after",
                  {{"filter", TextOrNull(table.after)},
                   {"rate", NumberOrNull(table.rate_after)}}}};
    console_->AddElement(json);
    const std::string before =
        table.before + ", " + RateText(table.rate_before);
    if (table.outcome == Outcome::kGone) {
      console_->Line(table.path + ": gone meanwhile");
    } else if (table.outcome == Outcome::kFailed) {
      console_->Error(table.path + ": " + table.reason);
    } else if (table.outcome == Outcome::kLeft) {
      console_->Line(table.path + ": left as it is: " + table.reason);
    } else if (table.outcome == Outcome::kNoGain) {
      console_->Line(table.path + ": left as it is: " + before +
                     ", no better one fits");
    } else {
      console_->Line(table.path + ": " + before + " -> " + table.after + ", " +
                     RateText(table.rate_after));
    }
  }

  // The tables of a level or a column family.
  struct Group {
    uint64_t keys = 0;
    uint64_t bytes = 0;
    std::map<std::string, uint64_t> filters;  // before: the number of tables
    Reads before;
    Reads after;
  };

  struct Totals {
    std::map<std::pair<std::string, int>, Group> levels;
    std::map<std::string, Group> families;
    std::map<std::string, uint64_t> not_used;  // tables, by column family
    Json outcomes;                             // the number of tables of each
  };

  Totals CountTables() const {
    Totals totals;
    for (const char* outcome : kOutcomes) totals.outcomes[outcome] = 0;
    for (const RefilterTable& table : tables_) {
      Json& count =
          totals.outcomes[kOutcomes[static_cast<size_t>(table.outcome)]];
      count = count.get<uint64_t>() + 1;
      if (table.outcome == Outcome::kGone) continue;
      const bool has_new_filter = table.outcome == Outcome::kReplaced ||
                                  table.outcome == Outcome::kPlanned;
      if (has_new_filter && without_policy_.count(table.family) > 0) {
        ++totals.not_used[table.family];
      }
      for (Group* group : {&totals.levels[{table.family, table.level}],
                           &totals.families[table.family]}) {
        group->keys += table.keys;
        group->bytes += table.filter_bytes;
        ++group->filters[table.before.empty() ? "none" : table.before];
        group->before.Add(table.rate_before, table.share_of_lookups);
        group->after.Add(table.rate_after, table.share_of_lookups);
      }
    }
    return totals;
  }

  void ShowLevels(const Totals& totals) {
    std::vector<std::vector<std::string>> rows = {
        {"column family", "level", "filters", "keys", "filter bytes",
         "reads now", "reads after"}};
    console_->StartArray("levels");
    for (const auto& [key, group] : totals.levels) {
      std::string kinds;
      for (const auto& [kind, tables] : group.filters) {
        kinds +=
            (kinds.empty() ? "" : ", ") + std::to_string(tables) + " " + kind;
      }
      console_->AddElement({{"column_family", key.first},
                            {"level", key.second},
                            {"filters", group.filters},
                            {"keys", group.keys},
                            {"filter_bytes", group.bytes},
                            {"reads_before", NumberOrNull(group.before.Sum())},
                            {"reads_after", NumberOrNull(group.after.Sum())}});
      rows.push_back({key.first, std::to_string(key.second), kinds,
                      std::to_string(group.keys), std::to_string(group.bytes),
                      group.before.Text(), group.after.Text()});
    }
    console_->Table(rows, 3);
  }

  void ShowFamilies(const Totals& totals) {
    console_->StartArray("column_families");
    for (const auto& [name, group] : totals.families) {
      console_->AddElement({{"name", name},
                            {"reads_before", NumberOrNull(group.before.Sum())},
                            {"reads_after", NumberOrNull(group.after.Sum())}});
      console_->Line("column family " + name +
                     ": reads of a lookup of an absent key: " +
                     group.before.Text() + " -> " + group.after.Text());
    }
  }

  void ShowOutcomes(const Json& outcomes) {
    console_->Line(Count(tables_.size(), "table", "tables") + ": " +
                   (options_.dry_run
                        ? outcomes["planned"].dump() + " to be replaced"
                        : outcomes["replaced"].dump() + " replaced") +
                   ", " + outcomes["no_gain"].dump() + " without a gain, " +
                   outcomes["left"].dump() + " left as they are, " +
                   outcomes["failed"].dump() + " failed, " +
                   outcomes["gone"].dump() + " gone meanwhile" +
                   (interrupted ? "; stopped by a signal"
                    : stop_     ? "; stopped, because no file can be written"
                                : ""));
  }

  void WarnOfFiltersNotUsed(const Totals& totals) {
    for (const auto& [name, tables] : totals.not_used) {
      console_->Error("warning: column family " + name + " was " +
                      without_policy_.at(name) +
                      ": until it is opened with "
                      "Deltabloom's policy, lookups of absent keys read a "
                      "data block in each of " +
                      Count(tables, "table", "tables"));
    }
  }

  ExitCode Summarize() {
    const Totals totals = CountTables();
    ShowLevels(totals);
    ShowFamilies(totals);
    console_->Add("summary", totals.outcomes);
    console_->Add("not_used", Json(totals.not_used));
    ShowOutcomes(totals.outcomes);
    WarnOfFiltersNotUsed(totals);
    return totals.outcomes["failed"] > 0 || stop_ ? kFailure : kSuccess;
  }

  const RefilterCommandOptions& options_;
  Console* const console_;
  const std::vector<std::string> directories_;
  std::map<std::string, RefilterOptions> families_;  // of the OPTIONS file
  RefilterOptions others_;  // of families that it does not name
  // Families that get filters which their policy does not use: how they were
  // last opened.
  std::map<std::string, std::string> without_policy_;
  std::vector<RefilterTable> tables_;
  std::vector<uint64_t> temporaries_;  // numbers of files, one for each thread
  std::atomic<bool> stop_{false};
  std::mutex mutex_;  // of the console
};

RunFn AddRefilterOptions(CLI::App* app) {
  const auto options = std::make_shared<RefilterCommandOptions>();
  app->add_option("DB", options->database, "The directory of the database")
      ->required()
      ->check(CLI::ExistingDirectory);
  app->add_option("--filter", options->uri,
                  "The new filters, as for the policy: deltabloom:9.9:compact, "
                  "id=deltabloom;seeded=on; default: those of the policy in "
                  "the OPTIONS file, with as many bits per key as fit")
      ->type_name("URI")
      ->check([](const std::string& text) {
        internal::PolicyOptions ignored;
        return internal::Trimmed(text).empty() ? "expected a policy, found none"
                                               : ParseFilter(text, &ignored);
      });
  AddPathOption(app, &options->paths);
  app->add_flag("--untested", options->untested,
                "Also where a RocksDB later than 11.12 may have written the "
                "tables: lookups lose what only that RocksDB puts into "
                "filters. Run deltabloom verify of that version afterwards");
  app->add_flag("--dry-run", options->dry_run,
                "Only report what would be done; the database may be open");
  app->add_option("--jobs", options->jobs,
                  "Tables that are replaced at a time; default: 1")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  app->add_option("--keep-old", options->keep_old,
                  "Keep the old files in this directory of the same file "
                  "system, as hard links. A run that replaces a table again "
                  "needs another directory")
      ->type_name("DIR")
      ->check([](const std::string& text) {
        return std::string(text.empty() ? "expected a directory" : "");
      });
  return [options](Console* console) {
    ParseFilter(options->uri, &options->filter);
    return RefilterRun(*options, console).All();
  };
}

}  // namespace

Command RefilterCommand() {
  Command command = {"refilter",
                     "Replace the filters of a database by better ones",
                     AddRefilterOptions};
  Manual& manual = command.manual;
  manual.description = R"(
Replaces the filters in the tables of a closed database, or of a checkpoint, by
filters with fewer false positives in the same bytes, without compaction. It
reads the keys of each table, and writes the table anew with another filter
where the old one was: every other byte stays, and so does the size of the file.
A filter is replaced if that leaves at most nine tenths of its expected false
positives; so a second run has nothing to do.

Without --filter each column family gets the filters of the Deltabloom policy
that the newest OPTIONS file names for it: its key_transform, seed, layout and
limits. Tables of families with another policy there, or none, stay; if that is
so for all, nothing is begun. Each filter keeps its bytes, so it has as many bits
per key as fit into them, whatever bits_per_key and upper_bits_per_key are, also
those of --filter.

Deltabloom's policy reads filters of every layout and size, but those of another
key_transform match every key for it: where --filter and the policy differ in
that, the tables stay. RocksDB without Deltabloom, or with another policy, does
not use the new filters: roll out the policy first. With --filter they are made
nevertheless, and a warning at the end names the families that do not use them.

The table is copied to a new file beside it. The keys are read from the copy,
where the checksum of every data block must hold; each key and prefix is looked
up in the new filter, by its hash, and a sample of them in the old one. With the
new filter in its place the copy is synced, everything in it but the data blocks
(and these, too, if the table has no checksums) is compared byte by byte with
the old file and the new filter, and then it is renamed. Memory is what building
the filter takes, which max_build_bytes limits, and 8 bytes for each key in it.
The program can be killed at any time: RocksDB deletes a file that was not
renamed when it opens the database (in directories of --path the next run does
that), and the next run continues. A table takes as much free space as its size,
or only that of its filter where the file system shares blocks between files.
Hard links, such as those of checkpoints, keep the old file. To undo it, move
the files that --keep-old kept back over tables of the same name, while the
database is closed.

Databases that were last opened by a RocksDB later than 11.12 are refused: it may
have changed which keys and prefixes a filter must hold. An interrupt (SIGINT or
SIGTERM) ends the run after it removed the copies it was writing.

These tables are left as they are, with the reason: without a filter; with
filters per data block or under another name (compatibility=own); with prefixes
of an extractor, or partitions in the order of a comparator, that is not known
here; with a checksum of the file in the MANIFEST, which cannot be changed; with a
property of RocksDB that is not known here, or more keys in the filter than the
rules known here put into it (see --untested); of a
column family whose policy has another key_transform than --filter, or, without
--filter, one that cannot be read here; symbolic links; and tables in which a
filter of another size would change the length of its handle. Encrypted files,
and blocks that Zlib, BZip2 or LZ4 compressed before format_version 2, cannot be
read: such a table is reported as failed, and the others go on.

With --dry-run nothing is written, the database is not locked and no keys are
read. The number of reads is that of data blocks for a lookup of an absent key,
in all tables of level 0 and in one table of each other level, as far as their
keys reach.

The document of --json has "files", "levels", "column_families", "summary", the
number of files by result, and "not_used", the number of new filters in column
families whose policy does not use them. A file has "result" (planned, replaced, no_gain,
left, failed, or gone: deleted while the database was open), "reason", "keys",
"filter_bytes", and "before" and "after" with "filter" and the expected "rate"
of false positives; deltabloom verify measures it. Unknown values are null.)";
  manual.examples = {
      {"deltabloom refilter --dry-run /var/lib/db",
       "what it would gain, table by table and level by level"},
      {"deltabloom refilter --jobs 4 --keep-old /var/lib/db/old /var/lib/db",
       "four tables at a time; the old files stay"},
      {"deltabloom refilter --filter 'id=deltabloom;seeded=on' /var/lib/db",
       "with a keyed hash, in a database without an OPTIONS file"}};
  manual.success =
      "every table has the better filter, or was left as it is for a reason "
      "that is shown";
  manual.failure =
      "the database is open, or a table could not be read or written; "
      "standard error says which";
  return command;
}

}  // namespace deltabloom::tools
