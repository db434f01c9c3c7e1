// deltabloom verify: whether the filters of table files match every key there.
#include "tools/deltabloom/verify/verify.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
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

#include "deltabloom/filter.h"
#include "table/framing.h"
#include "tools/deltabloom/commands.h"
#include "tools/deltabloom/tables/read_table.h"
#include "tools/deltabloom/tables/summary.h"
#include "tools/deltabloom/tables/table_files.h"
#include "tools/program/console.h"
#include "tools/program/program.h"
#include "tools/sst/sst.h"
#include "util/cpu.h"
#include "util/layouts/layout.h"
#include "util/parsed_filter.h"
#include "util/rates/rates.h"

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

double Rate(const TableReport& report) {
  return static_cast<double>(report.false_positives) /
         static_cast<double>(report.absent);
}

Json ToJson(const RangeLookups& ranges) {
  Json json = {{"keys", ranges.keys},
               {"asked", ranges.ranges},
               {"false_negatives", ranges.false_negatives},
               {"missed", Json::array()}};
  for (const MissedRange& missed : ranges.missed) {
    json["missed"].push_back({{"key", missed.key},
                              {"lower", missed.lower},
                              {"upper", missed.upper}});
  }
  return json;
}

Json ToJson(const TableReport& report) {
  Json json = {{"file", report.path}};
  if (!report.engine.empty()) {
    json["engine"] = report.engine;
    json["column_family"] = TextOrNull(report.column_family);
    json["filter"] = TextOrNull(report.filter);
    json["entries"] = report.entries;
    json["keys_asked"] = report.keys;
    json["prefixes_asked"] = report.prefixes;
    json["false_negatives"] = report.false_negatives;
    json["missed"] = Json::array();
    for (const MissedKey& missed : report.missed) {
      json["missed"].push_back({{"offset", missed.offset},
                                {missed.prefix ? "prefix" : "key", missed.key},
                                {"alone", missed.alone},
                                {"in_batch", missed.batched}});
    }
    json["absent_asked"] = report.absent;
    json["false_positives"] = report.false_positives;
    json["rate"] = report.absent > 0 ? Json(Rate(report)) : Json();
    json["expected_rate"] = NumberOrNull(report.expected_rate);
    json["ranges"] =
        report.ranges.has_value() ? ToJson(*report.ranges) : Json();
    json["cut_short"] = report.cut_short;
    json["damaged"] = report.damaged;
    json["not_checked"] = report.not_checked;
  }
  if (!report.error.empty()) json["error"] = report.error;
  return json;
}

std::string FalseNegatives(uint64_t number) {
  return number == 0 ? "no false negative"
                     : Count(number, "false negative", "false negatives");
}

// The line on false negatives of which no line is shown.
void ShowRest(uint64_t all, size_t shown, Console* console) {
  if (all <= shown) return;
  console->Line("  and " + std::to_string(all - shown) +
                " more false negatives");
}

// The lines on what was looked up.
void ShowLookups(const TableReport& report, Console* console) {
  std::string line = "  asked: " + Count(report.keys, "key", "keys");
  if (report.prefixes > 0) {
    line += " and " + Count(report.prefixes, "prefix", "prefixes");
  }
  console->Line(line + ", " + FalseNegatives(report.false_negatives));
  if (report.absent == 0) return;
  line = "  absent: " +
         Count(report.absent, report.keys > 0 ? "key, " : "prefix, ",
               report.keys > 0 ? "keys, " : "prefixes, ") +
         Count(report.false_positives, "false positive", "false positives") +
         ", " + Percent(Rate(report));
  if (report.expected_rate.has_value()) {
    line += ", expected " + Percent(*report.expected_rate);
  }
  console->Line(line);
}

void ShowRanges(const RangeLookups& ranges, Console* console) {
  console->Line("  range filter: " + Count(ranges.ranges, "range", "ranges") +
                " around " + Count(ranges.keys, "key", "keys") + ", " +
                FalseNegatives(ranges.false_negatives));
  for (const MissedRange& missed : ranges.missed) {
    console->Line("  false negative: range filter, key: " + missed.key +
                  ", range: " + missed.lower + " to " + missed.upper);
  }
  ShowRest(ranges.false_negatives, ranges.missed.size(), console);
}

void ShowTable(const TableReport& report, Console* console) {
  if (console->is_json()) console->AddElement(ToJson(report));
  if (!report.engine.empty()) {
    console->Line(report.path + ": " + report.engine + " table, " +
                  (report.filter.empty() ? "no filter" : report.filter));
  }
  if (report.keys + report.prefixes > 0) ShowLookups(report, console);
  for (const MissedKey& missed : report.missed) {
    const char* how = "";
    if (missed.alone != missed.batched) {
      how = missed.alone ? ", only when asked alone"
                         : ", only when asked in a batch";
    }
    console->Line(
        "  false negative: filter at offset " + std::to_string(missed.offset) +
        (missed.prefix ? ", prefix" : ", key") + how + ": " + missed.key);
  }
  ShowRest(report.false_negatives, report.missed.size(), console);
  if (report.ranges.has_value()) ShowRanges(*report.ranges, console);
  for (const std::string& what : report.not_checked) {
    console->Error(report.path + ": not checked: " + what);
  }
  if (report.cut_short) {
    console->Line("  not covered: the rest, because of the time limit");
  }
  if (!report.error.empty()) console->Error(report.error);
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

}  // namespace

Command VerifyCommand() {
  Command command = {"verify",
                     "Look up every key of table files in their filters",
                     AddVerifyOptions};
  Manual& manual = command.manual;
  manual.description = R"(
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

void Lookups::Begin(TableFilter* filter, uint64_t offset) {
  End();
  filter_ = filter;
  offset_ = offset;
  keys_in_filter_ = 0;
  absent_in_filter_ = 0;
  last_key_.reset();
  last_prefix_.reset();
}

void Lookups::Key(std::string_view key) {
  if (last_key_ == key) return;
  Add(key, Kind::kKey);
  if (last_key_.has_value() && Between(*last_key_, key)) {
    Add(absent_, Kind::kAbsent);
  }
  last_key_ = key;
}

void Lookups::Prefix(std::string_view prefix, bool absent) {
  if (last_prefix_ == prefix) return;
  if (absent && last_prefix_.has_value() &&
      BetweenPrefixes(*last_prefix_, prefix)) {
    Add(absent_, Kind::kAbsent);
  }
  Add(prefix, Kind::kPrefix);
  last_prefix_ = prefix;
}

void Lookups::Add(std::string_view key, Kind kind) {
  keys_[size_].assign(key);
  kinds_[size_] = kind;
  ++(kind == Kind::kAbsent ? absent_in_filter_ : keys_in_filter_);
  if (++size_ == kBatch) RunBatch();
}

void Lookups::RunBatch() {
  std::array<std::string_view, kBatch> views;
  std::copy(keys_.begin(), keys_.begin() + size_, views.begin());
  std::array<bool, kBatch> batched = {};
  const bool has_batches =
      filter_->MayMatch(views.data(), size_, batched.data());
  for (size_t i = 0; i < size_; ++i) {
    const bool alone = filter_->MayMatch(views[i]);
    const bool in_batch = has_batches ? batched[i] : alone;
    if (kinds_[i] == Kind::kAbsent) {
      ++report_->absent;
      if (alone || in_batch) ++report_->false_positives;
      continue;
    }
    const bool prefix = kinds_[i] == Kind::kPrefix;
    ++(prefix ? report_->prefixes : report_->keys);
    if (alone && in_batch) continue;
    ++report_->false_negatives;
    if (report_->missed.size() < report_->show) {
      report_->missed.push_back({offset_, keys_[i], prefix, !alone, !in_batch});
    }
  }
  size_ = 0;
}

void Lookups::End() {
  if (filter_ == nullptr) return;
  RunBatch();
  if (absent_in_filter_ > 0) {
    const auto rate = filter_->ExpectedRate(keys_in_filter_);
    if (expected_.has_value() && rate.has_value()) {
      *expected_ += *rate * static_cast<double>(absent_in_filter_);
    } else {
      expected_.reset();
    }
  }
  report_->expected_rate.reset();
  if (expected_.has_value() && report_->absent > 0) {
    report_->expected_rate = *expected_ / static_cast<double>(report_->absent);
  }
  filter_ = nullptr;
}

// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
uint64_t Lookups::Random() {
  uint64_t x = random_ += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

// Makes absent_: the smaller key (in the order of bytes) and eight random
// bytes, if that is less than the larger one. It is in the table with a chance
// of 2^-64, whatever the order of the table's keys.
bool Lookups::Between(std::string_view a, std::string_view b) {
  if (b < a) std::swap(a, b);
  absent_.assign(a);
  uint64_t random = Random();
  for (int i = 0; i < 8; ++i, random >>= 8) {
    absent_.push_back(static_cast<char>(random & 0xff));
  }
  return a != b && absent_ < b;
}

// Makes absent_: a prefix of the smaller one's length, strictly between both in
// the order of bytes; false if there is none or none is found.
bool Lookups::BetweenPrefixes(std::string_view a, std::string_view b) {
  if (b < a) std::swap(a, b);
  const size_t common = static_cast<size_t>(
      std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  if (common == a.size()) return false;
  const auto low = static_cast<unsigned char>(a[common]);
  const auto high = static_cast<unsigned char>(b[common]);
  constexpr int kTries = 8;
  for (int i = 0; i < kTries; ++i) {
    absent_.assign(a.substr(0, common));
    absent_.push_back(static_cast<char>(low + Random() % (high - low + 1u)));
    while (absent_.size() < a.size()) {
      absent_.push_back(static_cast<char>(Random() & 0xff));
    }
    if (a < absent_ && absent_ < b) return true;
  }
  return false;
}

}  // namespace deltabloom::tools
