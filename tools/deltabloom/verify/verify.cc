// deltabloom verify: whether the filters of table files match every key there.
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "tools/deltabloom/commands.h"
#include "tools/deltabloom/tables/read_table.h"
#include "tools/deltabloom/tables/summary.h"
#include "tools/deltabloom/tables/table_files.h"
#include "tools/deltabloom/verify/report.h"
#include "tools/deltabloom/verify/tables.h"
#include "tools/program/console.h"
#include "tools/program/program.h"
#include "tools/sst/sst.h"

namespace deltabloom::tools {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct VerifyOptions {
  std::vector<std::string> paths;
  std::chrono::milliseconds time_limit{0};
  uint64_t byte_limit = 0;
  uint64_t show = 10;
};

// Changes while a table is being written; nothing if there is no file.
using Stamp = std::optional<std::pair<uint64_t, fs::file_time_type>>;

Stamp StampOf(const TableFile& file) {
  std::error_code error;
  if (!fs::is_regular_file(file.path, error)) return std::nullopt;
  const uint64_t size = fs::file_size(file.path, error);
  if (error) return std::nullopt;
  const fs::file_time_type time = fs::last_write_time(file.path, error);
  return error ? Stamp() : Stamp({size, time});
}

void VerifyTable(const internal::SstSource& source,
                 const std::function<bool(double)>& go_on,
                 TableReport* report) {
  const internal::SstFile file = ReadSst(source, &report->damaged);
  auto verify = VerifyLevelDB;
  report->engine = "LevelDB";
  if (file.format_version > 0 || !file.properties.empty()) {
    report->engine = "RocksDB";
#ifdef DELTABLOOM_TOOLS_ROCKSDB
    verify = VerifyRocksDB;
#else
    verify = [](const VerifyTask& task) {
      Check(task.report->path +
            ": this build cannot check tables of RocksDB: that needs "
            "librocksdb-dev and -DDELTABLOOM_ROCKSDB=ON");
    };
#endif
  }
  report->column_family = TextOf(file, "rocksdb.column.family.name");
  for (const internal::SstFilter& filter : file.filters) {
    report->filter +=
        (report->filter.empty() ? "" : ", ") +
        (internal::ScopeName(filter.scope) + (" filter " + filter.policy));
    verify({source, file, filter, go_on, report});
  }
#ifdef DELTABLOOM_TOOLS_ROCKSDB
  if (!report->cut_short) VerifyRangeFilter(source, file, go_on, report);
#endif
}

class VerifyRun {
 public:
  VerifyRun(const VerifyOptions& options, Console* console)
      : options_(options),
        console_(console),
        end_(Clock::now() + options.time_limit) {}

  ExitCode All() {
    console_->StartArray("files");
    const std::vector<TableFile> files = TableFiles(options_.paths);
    for (const TableFile& file : files) all_bytes_ += file.Size();
    for (const TableFile& file : files) {
      size_ = file.Size();
      if (IsGone(file)) {
        summary_.Add("gone", file.path);
      } else if (file.error.empty() && !IsCovered()) {
        summary_.Add("not_covered", file.path);
      } else {
        Check(file, StampOf(file), /*again=*/false);
      }
      done_bytes_ += size_;
    }
    if (!unfinished_.empty()) {
      std::this_thread::sleep_for(std::chrono::seconds(1));
    }
    size_ = 0;
    for (const auto& [file, before] : unfinished_) Check(file, before, true);
    summary_.Show("tables", " without a false negative", console_);
    if (summary_.Has("false_negatives") || summary_.Has("damaged")) {
      return kFailure;
    }
    return summary_.Has("not_checked") ? kUndecided : kSuccess;
  }

 private:
  bool GoOn(double share) {
    constexpr uint64_t kMegabyte = 1000000;
    const double done = share * static_cast<double>(size_);
    console_->ShowProgress(
        (done_bytes_ + static_cast<uint64_t>(done)) / kMegabyte,
        (all_bytes_ + kMegabyte - 1) / kMegabyte, "MB", table_.path);
    return !TimeIsUp();
  }

  bool TimeIsUp() const {
    return options_.time_limit.count() > 0 && Clock::now() >= end_;
  }

  // Tables that would exceed the limit are left out; smaller ones after them
  // may still be read.
  bool IsCovered() {
    if (TimeIsUp()) return false;
    if (options_.byte_limit == 0) return true;
    if (size_ > options_.byte_limit - read_bytes_) return false;
    read_bytes_ += size_;
    return true;
  }

  // A table that cannot be read and is young may still be written by a running
  // database: it is checked again later. If it has changed by then, it is being
  // written.
  void Check(const TableFile& file, const Stamp& before, bool again) {
    const bool may_grow = file.from_directory && IsYoung(file);
    table_ = {};
    table_.path = file.path;
    table_.error = file.error;
    table_.show = options_.show;
    if (file.error.empty()) {
      GoOn(0);
      table_.error =
          ReadTable(file.path, [this](const internal::SstSource& source) {
            VerifyTable(
                source, [this](double share) { return GoOn(share); }, &table_);
          });
    }
    const Stamp now = StampOf(file);
    if (table_.error.empty() || table_.AllFalseNegatives() > 0) {
      Report();
    } else if (IsGone(file)) {
      summary_.Add("gone", file.path);
    } else if (!again && before.has_value() && may_grow) {
      unfinished_.emplace_back(file, before);
    } else if (again && now.has_value() && now != before) {
      summary_.Add("not_covered", file.path);
    } else {
      Report();
    }
  }

  void Report() {
    ShowTable(table_, console_);
    const bool checked = table_.error.empty() && table_.not_checked.empty();
    summary_.Add(table_.AllFalseNegatives() > 0 ? "false_negatives"
                 : table_.damaged               ? "damaged"
                 : !checked                     ? "not_checked"
                 : table_.cut_short             ? "not_covered"
                 : table_.filter.empty()        ? "without_filter"
                                                : "sound",
                 table_.path);
  }

  const VerifyOptions& options_;
  Console* const console_;
  const Clock::time_point end_;
  Summary summary_{{{"false_negatives", "with false negatives"},
                    {"damaged", "with a damaged filter"},
                    {"without_filter", "without a filter"},
                    {"not_checked", "not checked"},
                    {"not_covered", "not covered"}}};
  std::vector<std::pair<TableFile, Stamp>> unfinished_;
  TableReport table_;        // the one that is being read
  uint64_t size_ = 0;        // of it
  uint64_t done_bytes_ = 0;  // of the tables before it
  uint64_t all_bytes_ = 0;
  uint64_t read_bytes_ = 0;
};

RunFn AddVerifyOptions(CLI::App* app) {
  const auto options = std::make_shared<VerifyOptions>();
  app->add_option("PATH", options->paths,
                  "Table files, or directories with such files (*.sst, *.ldb)")
      ->required();
  AddDuration(
      app, "--time-limit", &options->time_limit,
      "Stop after this time, within a table if necessary; default: 0, no "
      "limit");
  app->add_option(
         "--byte-limit", options->byte_limit,
         "Read at most this many bytes of tables; tables beyond that are "
         "left out. 64M and 2G are powers of 1024; default: 0, no "
         "limit")
      ->type_name("SIZE")
      ->transform(CLI::AsSizeValue(false))
      ->transform(NotNegative());  // runs first
  app->add_option("--show", options->show,
                  "Print at most N false negatives of each table; default: 10. "
                  "All are counted")
      ->type_name("N")
      ->check(NotNegative());
  return [options](Console* console) {
    return VerifyRun(*options, console).All();
  };
}

constexpr char kVerifyDescription[] = R"(
Reads every key of each table and looks it up in the table's filter as the
database does: in the filter bytes of the file, through the policy that reads
them there, with the kernels for this CPU, each key alone and in batches. A key
that a filter denies is a false negative: the database would not find it. It is
shown with the file, the offset of the filter, and the key.

A range filter in the table's properties is asked for ranges that hold a key:
each key alone, with the key before it, and all that begin like it, up to its
declared places and to one byte before them. What it denies, a scan would not
find: keys were lost, or a prefix function breaks its contract.

Keys that are not in the table, made from neighbours in it, give the share of
false positives. The expected share for such a filter with this number of keys
is printed next to it.

Keys are read from the data blocks, including those of merges and deletions,
without the engine, and prefixes where the filter has those. Filters of
Deltabloom and of the engines can be checked. A filter whose checksum fails is
damaged. What cannot be checked is named: filters of other policies, prefixes of
custom extractors, partitions in the order of a custom comparator, a table that
cannot be read to its end. Other files (logs, blob files) have no filters. To
check tables in other directories (db_paths, cf_paths), name these.

Nothing is written and no database is opened, so files of a running database,
copies and read-only media can be checked. A table that vanishes meanwhile is
counted as gone. A table that cannot be read and was written to in the last ten
seconds is read again after the others: if it has changed by then, it is being
written and counts as not covered.

The document of --json has "files", in the order of the text, and "summary". A
file has "file", its path, and if it is a table "engine", "column_family",
"filter", "entries" (read), "keys_asked", "prefixes_asked", "false_negatives",
"missed" (the first of these: "offset", "key" or "prefix", "alone" and
"in_batch" for the lookups that deny it), "absent_asked", "false_positives",
"rate", "expected_rate", "ranges", "cut_short", "damaged" and "not_checked"; and
"error" if there was one. "ranges" is of the range filter: "keys", "asked" (the
ranges), "false_negatives", and "missed" (the first of these: "key", "lower" and
"upper" of a range that is denied). Unknown values are null.)";

}  // namespace

Command VerifyCommand() {
  Command command = {"verify",
                     "Look up every key of table files in their filters",
                     AddVerifyOptions};
  Manual& manual = command.manual;
  manual.description = kVerifyDescription;
  manual.examples = {
      {"deltabloom verify /var/lib/db", "all tables of a database"},
      {"deltabloom verify --time-limit 10m /var/lib/db",
       "as many as can be read in ten minutes; the others are listed"},
      {"deltabloom verify --json /var/lib/db | jq .summary.false_negatives",
       "the tables to restore from a backup or to compact again"},
      {"DELTABLOOM_CPU=portable deltabloom verify 000012.sst",
       "a table, checked with the portable kernels"}};
  manual.success =
      "no false negative was found, and everything was checked except what a "
      "limit left out";
  manual.failure = "a false negative was found, or a filter is damaged";
  manual.undecided =
      "neither was found, but something could not be checked; standard error "
      "has a line for each";
  manual.environment = {
      {"DELTABLOOM_CPU",
       "portable, neon, avx2 or avx512: the instructions that kernels of "
       "Deltabloom's filters may use at most; default: all that this CPU "
       "has. A filter must give the same results with each."}};
  return command;
}

}  // namespace deltabloom::tools
