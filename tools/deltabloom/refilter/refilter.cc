// deltabloom refilter: better filters in the tables of a database, within the
// bytes of the old ones.
//
// First everything is checked that would stop the run; the lock and the
// directory of --keep-old are all that is written. Then each table is planned.
// Then each that gains is replaced: its copy is complete, on the disk and read
// back before it gets the name of the old file. So a power cut leaves one of
// the two, whole: the old one as long as the directory is not synced. The copy
// that it may leave, too, is deleted by RocksDB or by the next run.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "engines/rocksdb/base/options.h"
#include "engines/rocksdb/base/options_file.h"
#include "tools/deltabloom/commands.h"
#include "tools/deltabloom/database/manifest.h"
#include "tools/deltabloom/database/options_file.h"
#include "tools/deltabloom/database/reads.h"
#include "tools/deltabloom/refilter/copy.h"
#include "tools/deltabloom/refilter/filter_maker.h"
#include "tools/deltabloom/refilter/interrupt.h"
#include "tools/deltabloom/refilter/keep_old.h"
#include "tools/deltabloom/refilter/live_tables.h"
#include "tools/deltabloom/refilter/lock.h"
#include "tools/deltabloom/refilter/policies.h"
#include "tools/deltabloom/refilter/read_back.h"
#include "tools/deltabloom/refilter/results.h"
#include "tools/deltabloom/refilter/table.h"
#include "tools/deltabloom/tables/filter_content.h"
#include "tools/deltabloom/tables/filter_keys.h"
#include "tools/deltabloom/tables/read_table.h"
#include "tools/deltabloom/tables/table_files.h"
#include "tools/program/console.h"
#include "tools/program/program.h"
#include "tools/sst/sst.h"

namespace deltabloom::tools {
namespace {

namespace fs = std::filesystem;
using internal::SstFile;
using internal::SstPatch;
using internal::SstSource;

struct RefilterCommandOptions : RefilterOptions {
  std::string database;
  std::vector<std::string> paths;
  std::string uri;  // of --filter; empty: by the policies of the database
  bool dry_run = false;
  uint64_t jobs = 1;
};

// --- One table.

// Builds the new filters from the keys in `source`, and reports what they gain.
// Returns whether they are to replace the old ones.
bool Make(const SstSource& source, const SstFile& file, FilterMaker* maker,
          const std::atomic<bool>& stop, RefilterTable* table) {
  std::string no_prefixes;
  uint64_t entries;
  VisitFilterKeys(source, file, file.filters[0],
                  FindContent(file, &no_prefixes), &entries, maker);
  if (stop) return false;
  maker->Report(table);
  return table->reason.empty() && table->outcome == Outcome::kPlanned;
}

// Gives the new file the name of the old one.
void Install(const RefilterOptions& options, const std::string& from,
             const fs::path& to, std::atomic<bool>* stop) {
  if (!options.keep_old.empty()) {
    const fs::path kept = fs::path(options.keep_old) / to.filename();
    // A run that was killed may have linked it.
    ExpectWritten((::link(to.c_str(), kept.c_str()) == 0 ||
                   (errno == EEXIST && fs::equivalent(to, kept))) &&
                      SyncDirectory(kept.parent_path()),
                  kept, "cannot be linked to the table", stop);
  }
  ExpectWritten(::rename(from.c_str(), to.c_str()) == 0, to,
                "cannot be replaced", stop);
  // If the directory is not synced, a crash may bring the old file back, which
  // is whole as well.
  ExpectWritten(SyncDirectory(to.parent_path()), to,
                "was replaced, but its directory cannot be synced", stop);
}

// Throws what is wrong with the table. The keys come from the copy, so that its
// data blocks are read back and need no comparison.
void Replace(const RefilterOptions& options, const SstSource& old,
             const std::string& temporary, std::atomic<bool>* stop,
             RefilterTable* table) {
  if (*stop) return;
  const SstFile file = ReadSst(old);
  Copy copy(old, temporary, stop);
  Check(ReadTable(temporary, [&](const SstSource& now) {
    if (now.Size() != old.Size()) Check(now.Name() + ": has another size");
    FilterMaker maker(options, *table, now, file, *stop);
    if (!Make(now, file, &maker, *stop, table)) return;
    std::vector<SstPatch> patches;
    Check(internal::ReplaceFilters(now, file, file.filters[0], maker.filters(),
                                   &patches, &table->reason));
    if (!table->reason.empty()) return;
    copy.Write(patches);
    Compare(old, now, patches, maker.Unchecked());
    VerifyFilters(old, file, now, maker);
    if (*stop) return;
    Install(options, temporary, table->path, stop);
    table->outcome = Outcome::kReplaced;
  }));
}

// Replaces the filter of a table that is kPlanned. `temporary`: the path of the
// new file, in the directory of the table, until it is complete. *stop ends it
// at the next opportunity; it is set when no file can be written any more.
void Refilter(const RefilterOptions& options, const std::string& temporary,
              std::atomic<bool>* stop, RefilterTable* table) {
  std::string error = ReadTable(table->path, [&](const SstSource& source) {
    Replace(options, source, temporary, stop, table);
  });
  const size_t named = error.find(temporary);
  if (named != std::string::npos) {
    error.replace(named, temporary.size(), "its copy");
  }
  if (table->outcome != Outcome::kReplaced) ::unlink(temporary.c_str());
  if (table->outcome == Outcome::kPlanned && table->reason.empty()) {
    table->reason = "the run was stopped";
  }
  Conclude(error, table);
}

// --- All tables.

class RefilterRun {
 public:
  RefilterRun(const RefilterCommandOptions& options, Console* console)
      : options_(options),
        console_(console),
        directories_(DirectoriesOf(options.database, options.paths)) {}

  ExitCode Run() {
    const std::shared_ptr<void> lock = CheckAndLock();
    const StopAtInterrupt handler(&stop_);
    console_->StartArray("files");
    ForEachTable([this](size_t, RefilterTable* table) { Plan(table); });
    SetShares(&tables_);
    if (!options_.dry_run) PrepareTemporaries();
    ForEachTable([this](size_t job, RefilterTable* table) {
      if (table->outcome == Outcome::kPlanned && !options_.dry_run) {
        Refilter(policies_.Of(table->family), TemporaryOf(job, *table), &stop_,
                 table);
      }
      const std::lock_guard<std::mutex> guard(mutex_);
      if (table->outcome == Outcome::kFailed && IsGone(*table)) {
        table->outcome = Outcome::kGone;
      }
      ShowTable(*table, console_);
    });
    return ShowTotals(tables_, policies_, options_.dry_run,
                      WasInterrupted() ? "stopped by a signal"
                      : stop_ ? "stopped, because no file can be written"
                              : "",
                      console_);
  }

 private:
  // Throws what would stop the run before the first table. Finds the tables.
  // Returns the lock, which a dry run does not take.
  std::shared_ptr<void> CheckAndLock() {
    // The lock is a file, which a folder without a database does not get.
    Manifest ignored;
    Check(ReadManifest(options_.database, &ignored));
    policies_ = ReadPolicies(options_.database, options_,
                             /*is_given=*/!options_.uri.empty(), console_);
    std::shared_ptr<void> lock;
    if (!options_.dry_run) {
      std::string error;
      lock = LockDatabase(options_.database, &error);
      Check(error);
    }
    tables_ = FindTables(options_.database, directories_);
    if (!options_.keep_old.empty() && !options_.dry_run) {
      MakeKeepOld(options_.keep_old, directories_, tables_);
    }
    return lock;
  }

  void Plan(RefilterTable* table) {
    if (!table->reason.empty()) return;
    if (stop_) {
      table->reason = "the run was stopped";
    } else {
      PlanRefilter(policies_.Of(table->family), table);
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

  // The path of a job's new file.
  std::string TemporaryOf(size_t job, const RefilterTable& table) const {
    return NumberedPath(fs::path(table.path).parent_path().string(),
                        temporaries_[job], "dbtmp");
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

  const RefilterCommandOptions& options_;
  Console* const console_;
  const std::vector<std::string> directories_;
  Policies policies_;
  std::vector<RefilterTable> tables_;
  std::vector<uint64_t> temporaries_;  // numbers of files, one for each thread
  std::atomic<bool> stop_{false};
  std::mutex mutex_;  // of the console
};

// --- The command.

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
                "Also where a RocksDB later than " + LastKnownRocksDB() +
                    " may have written the tables: lookups lose what only "
                    "that RocksDB puts into filters. Run deltabloom verify of "
                    "that version afterwards");
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
    return RefilterRun(*options, console).Run();
  };
}

constexpr char kRefilterDescription[] = R"(
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

Databases that were last opened by a RocksDB later than those known here (see
--untested) are refused: it may have changed which keys and prefixes a filter
must hold. An interrupt (SIGINT or SIGTERM) ends the run after it removed the
copies it was writing.

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

}  // namespace

Command RefilterCommand() {
  Command command = {"refilter",
                     "Replace the filters of a database by better ones",
                     AddRefilterOptions};
  Manual& manual = command.manual;
  manual.description = kRefilterDescription;
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
