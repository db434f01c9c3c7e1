// deltabloom verify: whether filters of table files answer for every key.
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "tools/deltabloom/command.h"
#include "tools/deltabloom/option_types.h"
#include "tools/deltabloom/table_files.h"
#include "tools/deltabloom/verify_output.h"
#include "tools/deltabloom/verify_report.h"

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

// What changes while a table is being written.
struct Stamp {
  uint64_t size = 0;
  fs::file_time_type time;
  bool operator==(const Stamp& other) const {
    return size == other.size && time == other.time;
  }
};

// Nothing for what is no file.
std::optional<Stamp> StampOf(const TableFile& file) {
  std::error_code error;
  if (!fs::is_regular_file(file.path, error)) return std::nullopt;
  Stamp stamp;
  stamp.size = fs::file_size(file.path, error);
  if (!error) stamp.time = fs::last_write_time(file.path, error);
  return error ? std::nullopt : std::optional(stamp);
}

uint64_t SizeOf(const TableFile& file) {
  std::error_code error;
  const uint64_t size = fs::file_size(file.path, error);
  return error ? 0 : size;
}

class Run : public VerifyListener {
 public:
  Run(const VerifyOptions& options, Console* console)
      : options_(options),
        console_(console),
        output_(NewVerifyOutput(console)),
        end_(Clock::now() + options.time_limit) {}

  ExitCode All() {
    const std::vector<TableFile> files = TableFiles(options_.paths);
    std::vector<uint64_t> sizes;
    for (const TableFile& file : files) {
      sizes.push_back(SizeOf(file));
      all_bytes_ += sizes.back();
    }
    for (size_t i = 0; i < files.size(); ++i) {
      size_ = sizes[i];
      One(files[i]);
      done_bytes_ += size_;
    }
    if (!unfinished_.empty()) LookAgain();
    output_->Summary(summary_);
    if (!summary_.false_negatives.empty()) return kFailure;
    return summary_.not_checked.empty() ? kSuccess : kUndecided;
  }

  void Missed(const MissedKey& key) override {
    if (table_.missed.size() < options_.show) table_.missed.push_back(key);
  }

  bool GoOn(double share) override {
    constexpr uint64_t kMegabyte = 1000000;
    const double done = share * static_cast<double>(size_);
    console_->ShowProgress(
        (done_bytes_ + static_cast<uint64_t>(done)) / kMegabyte,
        (all_bytes_ + kMegabyte - 1) / kMegabyte, "MB", table_.path);
    return !TimeIsUp();
  }

 private:
  bool TimeIsUp() const {
    return options_.time_limit.count() > 0 && Clock::now() >= end_;
  }

  // Tables that would go beyond the limit are left out; smaller ones behind
  // them may still fit.
  bool IsCovered() {
    if (TimeIsUp()) return false;
    if (options_.byte_limit == 0) return true;
    if (size_ > options_.byte_limit - read_bytes_) return false;
    read_bytes_ += size_;
    return true;
  }

  void One(const TableFile& file) {
    if (IsGone(file)) {
      ++summary_.gone;
    } else if (file.error.empty() && !IsCovered()) {
      summary_.not_covered.push_back(file.path);
    } else if (Look(file)) {
      output_->Table(table_);
      Note();
    }
  }

  // Fills table_. False if there is nothing to tell of it, or not yet.
  bool Look(const TableFile& file) {
    table_ = {};
    table_.path = file.path;
    table_.error = file.error;
    if (!file.error.empty()) return true;
    GoOn(0);
    const std::optional<Stamp> before = StampOf(file);
    table_.error = VerifyTable(file.path, this, &table_.report);
    if (table_.error.empty() || table_.report.false_negatives > 0) return true;
    if (IsGone(file)) {
      ++summary_.gone;
      return false;
    }
    if (!MayBeUnfinished(file, before)) return true;
    unfinished_.push_back({file, *before});
    return false;
  }

  // A database that runs may be writing it.
  bool MayBeUnfinished(const TableFile& file,
                       const std::optional<Stamp>& stamp) const {
    constexpr std::chrono::seconds kYoung(10);
    return !again_ && file.from_directory && stamp.has_value() &&
           fs::file_time_type::clock::now() - stamp->time < kYoung;
  }

  // Tables that could not be read and were young: those that have changed
  // since are being written, or are complete now.
  void LookAgain() {
    constexpr std::chrono::seconds kPatience(1);
    std::this_thread::sleep_for(kPatience);
    again_ = true;
    for (const auto& [file, stamp] : unfinished_) {
      size_ = 0;
      if (!Look(file)) continue;
      const std::optional<Stamp> now = StampOf(file);
      if (!table_.error.empty() && now.has_value() && !(*now == stamp)) {
        summary_.not_covered.push_back(file.path);
        continue;
      }
      output_->Table(table_);
      Note();
    }
  }

  void Note() {
    const TableReport& report = table_.report;
    if (report.false_negatives > 0) {
      summary_.false_negatives.push_back(table_.path);
    } else if (!table_.error.empty() || !report.not_checked.empty()) {
      summary_.not_checked.push_back(table_.path);
    } else if (report.cut_short) {
      summary_.not_covered.push_back(table_.path);
    } else if (report.filter.empty()) {
      summary_.without_filter.push_back(table_.path);
    } else {
      ++summary_.sound;
    }
  }

  const VerifyOptions& options_;
  Console* const console_;
  const std::unique_ptr<VerifyOutput> output_;
  const Clock::time_point end_;
  VerifySummary summary_;
  std::vector<std::pair<TableFile, Stamp>> unfinished_;
  bool again_ = false;
  VerifiedTable table_;      // the one that is being read
  uint64_t size_ = 0;        // of it
  uint64_t done_bytes_ = 0;  // of the tables in front of it
  uint64_t all_bytes_ = 0;
  uint64_t read_bytes_ = 0;
};

RunFn AddOptions(CLI::App* app) {
  const auto options = std::make_shared<VerifyOptions>();
  app->add_option("PATH", options->paths,
                  "Table files, or directories of such (*.sst, *.ldb)")
      ->required();
  AddDuration(app, "--time-limit", &options->time_limit,
              "Stop after that long, within a table if need be; default: 0, no "
              "limit");
  app->add_option("--byte-limit", options->byte_limit,
                  "Leave out tables with which those read would be larger than "
                  "that together; 64M and 2G are sizes, too, of powers of "
                  "1024; default: 0, no limit")
      ->type_name("SIZE")
      ->transform(CLI::AsSizeValue(false))
      ->transform(NotNegative());  // comes first
  app->add_option("--show", options->show,
                  "False negatives to print of each table; default: 10. All "
                  "are counted")
      ->type_name("N")
      ->check(NotNegative());
  return [options](Console* console) { return Run(*options, console).All(); };
}

Manual MakeManual() {
  Manual manual;
  manual.description = {
      "Reads every key of each table and asks the table's filter for it, the "
      "way the database does: the filter bytes in the file, through the policy "
      "that reads them there, with the kernels for this CPU, each key alone "
      "and among others, and where it has a range part, for the range that "
      "holds this key and no other. A key that a filter denies is a false "
      "negative: the "
      "database would not find it. It is told with the file, the offset of the "
      "filter in it, and the key.",
      "Keys that the table does not have, made from those that follow each "
      "other in it, give the share of false positives. Beside it stands what "
      "theory expects of such a filter with so many keys.",
      "Tables of RocksDB are read through RocksDB, with puts, merges and "
      "deletions, and with their prefixes where the filter has those; tables "
      "of LevelDB without it. Filters of Deltabloom and those of the engines "
      "can be asked. What cannot is named: filters under other policies, "
      "prefixes of extractors of your own, partitions in the order of a "
      "comparator of your own, a table that cannot be read to its end. Data "
      "of other kinds (logs, blob files) has no filters. Tables in other "
      "directories (db_paths, cf_paths) are checked if these are named.",
      "Nothing is written and no database is opened: files of a running "
      "database, copies and read-only media can be checked. A table that "
      "vanishes meanwhile is counted as gone. One that cannot be read, and "
      "that "
      "was written to in the last ten seconds, is looked at again after the "
      "others: if it has changed by then, it is being written and counts as "
      "not covered.",
      "The document of --json has \"files\", in the order of the text, and "
      "\"summary\". A file has \"file\", its path, and unless it is no table "
      "\"engine\", \"column_family\", \"filter\", \"entries\" (read), "
      "\"keys_asked\", \"prefixes_asked\", \"false_negatives\", \"missed\" "
      "(the first of these: \"offset\", \"key\" or \"prefix\", \"alone\", "
      "\"in_batch\" and \"in_range\" for the ways of asking that deny it), "
      "\"absent_asked\", "
      "\"false_positives\", \"rate\", \"expected_rate\", \"cut_short\" and "
      "\"not_checked\"; and \"error\" where there was one. What is not known "
      "is null."};
  manual.examples = {
      {"deltabloom verify /var/lib/db", "all tables of a database"},
      {"deltabloom verify --time-limit 10m /var/lib/db",
       "as many as ten minutes allow; the others are named"},
      {"deltabloom verify --json /var/lib/db | jq .summary.false_negatives",
       "the tables to restore from a backup or to compact anew"},
      {"DELTABLOOM_CPU=portable deltabloom verify 000012.sst",
       "a table, asked without special instructions"}};
  manual.success =
      "no false negative was found, and all was checked but for what a limit "
      "left out";
  manual.failure = "a false negative was found";
  manual.undecided =
      "no false negative was found, but something could not be checked; "
      "standard error has a line for each";
  manual.environment = {
      {"DELTABLOOM_CPU",
       "portable, avx2 or avx512: the instructions that kernels of "
       "Deltabloom's filters may use at most. Without it they use all that "
       "this CPU has. A filter must give the same answers with each."}};
  return manual;
}

}  // namespace

Implementation VerifyCommand() {
  Implementation command;
  command.manual = MakeManual();
  command.add_options = AddOptions;
  return command;
}

}  // namespace deltabloom::tools
