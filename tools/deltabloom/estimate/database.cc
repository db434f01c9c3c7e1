// deltabloom estimate DIR computes what filters cost and save in an existing
// database.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "deltabloom/filter.h"
#include "engines/rocksdb/base/filter_total.h"
#include "engines/rocksdb/base/options.h"
#include "tools/deltabloom/database/database.h"
#include "tools/deltabloom/database/filter_use.h"
#include "tools/deltabloom/database/log_statistics.h"
#include "tools/deltabloom/database/options_file.h"
#include "tools/deltabloom/database/reads.h"
#include "tools/deltabloom/estimate/estimate.h"
#include "tools/deltabloom/estimate/model.h"
#include "tools/program/console.h"
#include "util/json.h"
#include "util/layouts/layout.h"

namespace deltabloom::tools {
namespace {

// CPU seconds of rewriting tables, for each entry and for each byte of the
// tables: docs/measurements.md, "Rewriting tables".
struct RewriteCost {
  double per_entry;
  double per_byte;
};
constexpr RewriteCost kCompaction = {0.53e-6, 5.2e-9};
constexpr RewriteCost kRefilter = {0.12e-6, 1.1e-9};

// The tables of a column family that are rewritten, to compute the CPU time.
struct Rewrite {
  uint64_t tables = 0;
  double entries = 0;
  double bytes = 0;

  void Add(const DatabaseTable& table) {
    ++tables;
    entries += static_cast<double>(table.entries);
    bytes += static_cast<double>(table.bytes);
  }
  double Seconds(const RewriteCost& cost) const {
    return entries * cost.per_entry + bytes * cost.per_byte;
  }
};

// A level of a column family, as it is.
struct Level {
  uint64_t tables = 0;
  double keys = 0;
  double bytes = 0;
  double filter_bytes = 0;
  double asked = 0;                       // filters per lookup
  std::map<std::string, uint64_t> kinds;  // tables by kind of their filters
  Reads reads;

  // Returns the mean false-positive rate of the filters that a lookup queries.
  std::optional<double> Rate() const {
    const std::optional<double> sum = reads.Sum();
    return sum.has_value() && asked > 0 ? std::optional(*sum / asked)
                                        : std::nullopt;
  }
};

struct Family {
  std::string name;
  const FamilyOptions* options = nullptr;  // null: not known
  std::map<int, Level> levels;
  std::vector<internal::TableKeys> tables;
  double keys = 0;
  double bytes = 0;
  double range_filter_bytes = 0;
  // The tree as the model takes it, and the estimate for the filters that are
  // there: unset if the rate of one of them is not known.
  std::vector<TreeLevel> tree;
  std::optional<FilterEstimate> now;
  FilterEstimate refiltered;
  Rewrite all;
  Rewrite by_refilter;  // of the tables that get better filters

  // The estimates for other filters.
  std::vector<FilterEstimate> filters;     // within the budget
  std::vector<FilterEstimate> same_reads;  // in the same order; or empty
  double reads = 0;                        // same_reads have at most these

  double FilterBytes() const { return refiltered.bytes; }
  bool IsFifo() const { return options != nullptr && options->is_fifo; }
  bool HasDeltabloom() const {
    return options != nullptr && options->NamesDeltabloom();
  }
};

// The bits_per_key of a total.
struct Total {
  internal::PolicyOptions options;
  double bytes = 0;  // of the filters that they make
};

// deltabloom refilter replaces a filter that leaves at most this share of its
// false positives (kLeastGain in refilter_rocksdb.cc).
constexpr double kLeastGain = 0.9;

// The run of the tree that a table belongs to; a new one for a table of level
// 0, and for the first one of another level.
struct Run {
  TreeLevel level;
  LevelFilters now;
  LevelFilters after;  // deltabloom refilter
  Reads reads;
  Reads reads_after;
  int number = 0;
};

// The least share of the lookups that a run has. It is a divisor, and a run of
// a single key has the share 0, because no absent key is between two equal
// ones. It is too small to show in any figure.
constexpr double kLeastShareOfRun = 1e-9;

// Returns whether deltabloom refilter can replace the filter.
bool CanBeRefiltered(const DatabaseTable& table) {
  return table.compatibility_name == "rocksdb.BuiltinBloomFilter" &&
         table.use.kind != "per block" && table.filter_bytes > 0 &&
         !table.has_checksum;
}

std::string KindText(const FilterUse& use) {
  if (use.kind.empty()) return "none";
  return use.kind + (use.used == false ? " (not used)" : "");
}

void AddTable(const DatabaseTable& table, bool bottommost, Family* family,
              std::vector<Run>* runs) {
  const auto keys = static_cast<double>(table.filter_keys);
  const auto filter_bytes = static_cast<double>(table.filter_bytes);
  const std::optional<double> rate = table.use.RateInUse();
  Level& level = family->levels[table.level];
  ++level.tables;
  level.keys += keys;
  level.bytes += static_cast<double>(table.bytes);
  level.filter_bytes += filter_bytes;
  level.asked += table.share_of_lookups;
  ++level.kinds[KindText(table.use)];
  level.reads.Add(rate, table.share_of_lookups);
  family->keys += keys;
  family->bytes += static_cast<double>(table.bytes);
  family->range_filter_bytes += static_cast<double>(table.range_filter_bytes);
  family->all.Add(table);
  family->tables.push_back({table.entries, bottommost});
  // No filter has keys where there are deletions of ranges only.
  if (keys == 0) return;

  if (table.level == 0 || runs->empty() || runs->back().number != table.level) {
    Run run;
    run.number = table.level;
    run.level.name = "level " + std::to_string(table.level);
    run.level.is_level0 = table.level == 0;
    run.level.bottommost = bottommost;
    run.level.runs = 0;
    run.level.tables = 0;
    runs->push_back(run);
  }
  Run& run = runs->back();
  run.level.keys += keys;
  run.level.runs += table.share_of_lookups;
  ++run.level.tables;
  run.now.bytes += filter_bytes;
  run.reads.Add(rate, table.share_of_lookups);
  std::optional<double> after = rate;
  if (CanBeRefiltered(table)) {
    const auto filters =
        static_cast<double>(std::max<uint64_t>(table.filter_partitions, 1));
    const double better = RateInBytes(keys / filters, filter_bytes / filters);
    if (better <= kLeastGain * rate.value_or(1)) {
      after = better;
      family->by_refilter.Add(table);
    }
  }
  run.reads_after.Add(after, table.share_of_lookups);
}

// The column families that have tables, with their trees.
std::vector<Family> FamiliesOf(const Database& database) {
  // From the newest run to the oldest: in level 0 newer tables have higher
  // numbers, and so later names.
  std::map<std::string, std::map<int, std::vector<const DatabaseTable*>>> all;
  for (auto table = database.tables.rbegin(); table != database.tables.rend();
       ++table) {
    if (table->level >= 0) all[table->family][table->level].push_back(&*table);
  }
  std::vector<Family> families;
  for (const auto& [name, levels] : all) {
    Family& family = families.emplace_back();
    family.name = name;
    for (const FamilyOptions& options : database.options.families) {
      if (options.name == name) family.options = &options;
    }
    std::vector<Run> runs;
    for (const auto& [number, tables] : levels) {
      const bool bottommost =
          family.IsFifo() || (number > 0 && number == levels.rbegin()->first);
      for (const DatabaseTable* table : tables) {
        AddTable(*table, bottommost, &family, &runs);
      }
    }
    std::vector<LevelFilters> now;
    std::vector<LevelFilters> after;
    bool known = true;
    for (Run& run : runs) {
      run.level.runs = std::max(run.level.runs, kLeastShareOfRun);
      run.now.bits_per_key = 8 * run.now.bytes / run.level.keys;
      run.after = run.now;
      known = known && run.reads.Sum().has_value();
      run.now.rate = run.reads.Sum().value_or(1) / run.level.runs;
      run.after.rate = run.reads_after.Sum().value_or(1) / run.level.runs;
      family.tree.push_back(run.level);
      now.push_back(run.now);
      after.push_back(run.after);
    }
    if (known) {
      family.now = EstimateOf(family.tree, std::move(now));
      family.now->filter = "now";
    }
    family.refiltered = EstimateOf(family.tree, std::move(after));
    family.refiltered.filter = "refilter";
  }
  return families;
}

// Returns the options of the policy that the OPTIONS file names, as far as they
// can be read; the defaults if it is not Deltabloom's.
internal::PolicyOptions PolicyOf(const Family& family) {
  internal::PolicyOptions options;
  if (family.HasDeltabloom()) {
    internal::ParsePolicyOptions(family.options->policy, &options);
  }
  return options;
}

// Fits the total for the layout of the first policy of Deltabloom.
Total FitTotal(double bytes, const std::vector<Family>& families) {
  std::vector<internal::TableKeys> tables;
  for (const Family& family : families) {
    tables.insert(tables.end(), family.tables.begin(), family.tables.end());
  }
  Total total;
  const auto found =
      std::find_if(families.begin(), families.end(),
                   [](const Family& family) { return family.HasDeltabloom(); });
  if (found != families.end()) total.options.layout = PolicyOf(*found).layout;
  const auto bytes_of_filters = [&] {
    return static_cast<double>(internal::FilterBytesOf(tables, total.options));
  };
  if (!internal::FitTotal(tables, static_cast<uint64_t>(bytes),
                          &total.options)) {
    total.options.bits_per_key = internal::kMinBitsPerKey;
    RejectTotal(bytes, bytes_of_filters());
  }
  total.bytes = bytes_of_filters();
  return total;
}

// Each column family has the part of the total that its filters take.
void EstimateFamilies(const Budget& asked, const std::optional<Total>& total,
                      std::vector<Family>* families) {
  for (Family& family : *families) {
    if (!(family.keys > 0)) continue;
    Budget budget;
    if (total.has_value()) {
      budget.bytes = static_cast<double>(
          internal::FilterBytesOf(family.tables, total->options));
    } else if (asked.bits_per_key > 0) {
      budget.bits_per_key = asked.bits_per_key;
    } else if (family.FilterBytes() > 0) {
      budget.bytes = family.FilterBytes();
    } else {
      budget.bits_per_key = 10;
    }
    family.filters = EstimateFilters(family.tree, budget);
    if (total.has_value()) {
      // Averages over tables are some thousandths of a bit off.
      const std::vector<FilterEstimate> exact =
          EstimateFilters(family.tree, {total->options.bits_per_key});
      const std::string layout = LayoutName(total->options.layout);
      for (size_t i = 0; i < exact.size(); ++i) {
        if (exact[i].filter == layout) family.filters[i] = exact[i];
      }
    }
    const FilterEstimate now = family.now.value_or(FilterEstimate());
    family.reads = asked.absent_reads > 0 ? asked.absent_reads
                   : now.bytes > 0        ? now.absent_reads
                                          : 0;
    if (!(family.reads > 0)) continue;
    family.same_reads = EstimateFilters(family.tree, {0, 0, family.reads});
  }
}

// --- As JSON and as text.

Json ToJson(const std::optional<Outcomes>& outcomes, const char* part) {
  if (!outcomes.has_value()) return {};
  return {{"all", outcomes->all},
          {part, outcomes->part},
          {"share", outcomes->Share()}};
}

Json ToJson(const LogStatistics& statistics) {
  if (statistics.file.empty()) return {};
  return {{"file", statistics.file},
          {"time", statistics.time},
          {"gets", ToJson(statistics.gets, "missed")},
          {"filtered", ToJson(statistics.filtered, "passed")},
          {"seeks", ToJson(statistics.seeks, "missed")},
          {"run_seeks", ToJson(statistics.run_seeks, "without_value")}};
}

Json ToJson(const Rewrite& rewrite, const RewriteCost& cost) {
  return {{"tables", rewrite.tables},
          {"cpu_seconds", rewrite.Seconds(cost)},
          {"write_bytes", rewrite.bytes}};
}

Json ToJson(const std::optional<Total>& total, const Budget& asked) {
  if (!total.has_value()) return {};
  const internal::PolicyOptions& options = total->options;
  return {{"bytes", asked.bytes},
          {"bits_per_key", options.bits_per_key},
          {"upper_bits_per_key", options.UpperMillibitsPerKey() / 1000.0},
          {"layout", LayoutName(options.layout)},
          {"filter_bytes", total->bytes}};
}

Json ToJson(const Family& family) {
  Json json = {
      {"name", family.name},
      {"filter_policy",
       family.options == nullptr ? Json() : TextOrNull(family.options->policy)},
      {"keys", family.keys},
      {"bytes", family.bytes},
      {"filter_bytes", family.FilterBytes()},
      {"range_filter_bytes", family.range_filter_bytes},
      {"levels", Json::array()},
      {"tree", ToJson(family.tree)},
      {"now", family.now.has_value() ? ToJson(*family.now) : Json()},
      {"filters", Json::array()},
      {"same_reads", Json::array()},
      {"refilter", Json()},
      {"rewrite", {{"compaction", ToJson(family.all, kCompaction)}}}};
  for (const auto& [number, level] : family.levels) {
    json["levels"].push_back(
        {{"level", number},
         {"tables", level.tables},
         {"keys", level.keys},
         {"bytes", level.bytes},
         {"filters", level.kinds},
         {"filter_bytes", level.filter_bytes},
         {"filters_asked", level.asked},
         {"false_positive_rate", NumberOrNull(level.Rate())},
         {"reads", NumberOrNull(level.reads.Sum())}});
  }
  for (const FilterEstimate& estimate : family.filters) {
    json["filters"].push_back(ToJson(estimate));
  }
  for (const FilterEstimate& estimate : family.same_reads) {
    json["same_reads"].push_back(ToJson(estimate));
  }
  if (family.by_refilter.tables > 0) {
    json["refilter"] = ToJson(family.refiltered);
    json["rewrite"]["refilter"] = ToJson(family.by_refilter, kRefilter);
  }
  return json;
}

void ShowStatistics(const LogStatistics& statistics, Console* console) {
  if (statistics.file.empty()) {
    console->Line(
        "no statistics in the LOG: with the option statistics RocksDB writes "
        "them there, and then the shares of lookups and seeks that find "
        "nothing are shown here");
    return;
  }
  const bool counted = statistics.gets.has_value() ||
                       statistics.filtered.has_value() ||
                       statistics.seeks.has_value();
  console->Line(statistics.file + ", since the process started, up to " +
                statistics.time + (counted ? ":" : ": nothing was looked up"));
  const auto show = [&](const std::optional<Outcomes>& outcomes, const char* of,
                        const char* what) {
    if (!outcomes.has_value()) return;
    console->Line("  " + Count(static_cast<double>(outcomes->all)) + " " + of +
                  ": " + Short(100 * outcomes->Share()) + " % " + what);
  };
  show(statistics.gets, "keys were looked up", "of them were not found");
  show(statistics.filtered,
       "times a filter was asked for a key it did not hold",
       "passed, each of which read a data block");
  show(statistics.seeks, "seeks", "found nothing");
  show(statistics.run_seeks, "seeks in a sorted run that read a data block",
       "read no value");
}

using Cells = std::vector<std::string>;

void ShowLevels(const Family& family, Console* console) {
  std::vector<Cells> rows = {{"", "filters", "tables", "keys", "size",
                              "filter size", "bits per key", "filters asked",
                              "false positives", "reads"}};
  for (const auto& [number, level] : family.levels) {
    std::string kinds;
    for (const auto& [kind, tables] : level.kinds) {
      if (!kinds.empty()) kinds += ", ";
      if (level.kinds.size() > 1) kinds += std::to_string(tables) + " ";
      kinds += kind;
    }
    const std::optional<double> rate = level.Rate();
    rows.push_back({"level " + std::to_string(number), kinds,
                    Count(static_cast<double>(level.tables)), Count(level.keys),
                    Bytes(level.bytes), Bytes(level.filter_bytes),
                    level.keys > 0
                        ? Format("%.1f", 8 * level.filter_bytes / level.keys)
                        : "-",
                    Format("%.2f", level.asked),
                    rate.has_value() ? Short(100 * *rate) + " %" : "?",
                    level.reads.Text()});
  }
  console->Table(rows, 2);
}

void ShowFilters(const Family& family, Console* console) {
  std::vector<Cells> rows = {
      {"filter", "bits_per_key", "bits per key", "filter", "reads of", "fewer",
       "reads of"},
      {"", "", "by level", "size", "absent key", "than now", "present key"}};
  const bool by_reads = !family.same_reads.empty();
  if (by_reads) {
    const std::string reads = "for " + Short(family.reads) + " reads";
    rows[0].insert(rows[0].end(), {"bits_per_key", "size"});
    rows[1].insert(rows[1].end(), {reads, reads});
  }
  for (Cells& row : rows) row.emplace_back();
  const auto bits_text = [](double bits) {
    return bits > 0 ? Format("%g", bits) : "-";
  };
  const auto add = [&](const FilterEstimate& estimate,
                       const FilterEstimate* same) {
    std::string fewer = "-";
    if (family.now.has_value() && estimate.absent_reads > 0) {
      fewer = Short(family.now->absent_reads / estimate.absent_reads) + " x";
    }
    rows.push_back({estimate.filter, bits_text(estimate.bits_per_key),
                    BitsByLevel(family.tree, estimate), Bytes(estimate.bytes),
                    Short(estimate.absent_reads), fewer,
                    Format("%.4f", estimate.present_reads)});
    if (by_reads) {
      const bool reached = same != nullptr && same->remark.empty();
      rows.back().push_back(reached ? bits_text(same->bits_per_key) : "-");
      rows.back().push_back(reached ? Bytes(same->bytes) : "-");
    }
    rows.back().push_back(estimate.remark);
  };
  if (family.now.has_value()) add(*family.now, nullptr);
  for (size_t i = 0; i < family.filters.size(); ++i) {
    add(family.filters[i], by_reads ? &family.same_reads[i] : nullptr);
  }
  console->Table(rows, 1);
}

// What the column family is set to now.
std::string SettingText(const Family& family) {
  if (family.options == nullptr) return "not known";
  if (!family.HasDeltabloom()) {
    return family.options->policy.empty() ? "nullptr" : family.options->policy;
  }
  return "bits_per_key=" +
         internal::NumberText(PolicyOf(family).MillibitsPerKey() / 1000.0);
}

void ShowTotal(const Total& total, const Budget& asked,
               const std::vector<Family>& families, Console* console) {
  const internal::PolicyOptions& options = total.options;
  const std::string bits = internal::NumberText(options.bits_per_key);
  const std::string upper =
      internal::NumberText(options.UpperMillibitsPerKey() / 1000.0);
  console->Line("");
  console->Line("filters of all column families within " + Bytes(asked.bytes) +
                ": bits_per_key=" + bits);
  console->Line("  with layout " + std::string(LayoutName(options.layout)) +
                (upper == bits ? "" : ", " + upper + " above the last level") +
                ", they take " + Bytes(total.bytes) +
                " once compactions have rewritten all tables");
  double now = 0;
  bool has_deltabloom = false;
  for (const Family& family : families) {
    now += family.FilterBytes();
    has_deltabloom = has_deltabloom || family.HasDeltabloom();
  }
  console->Line("  now they take " + Bytes(now) + ", and the settings are");
  for (const Family& family : families) {
    console->Line("    " + family.name + ": " + SettingText(family));
  }
  if (!has_deltabloom) {
    console->Line("  to set it: filter_policy=" +
                  PolicyText("deltabloom:BITS", options.bits_per_key) +
                  " at the next start");
    return;
  }
  const std::string set = "bits_per_key=" + bits + ";upper_bits_per_key=unset";
  console->Line(
      "  to set it: only the process that has the database open can, for each "
      "column family by");
  console->Line(
      "    db->SetOptions(family, {{\"block_based_table_factory\", "
      "\"{filter_policy={" +
      set + ";}}\"}})");
  console->Line(
      "  or, for the next start, by the text of the policy, or in the OPTIONS "
      "file from which it is opened:");
  console->Line("    " + set);
}

void ShowWays(const Database& database, const Family& family,
              Console* console) {
  const auto takes = [](const Rewrite& rewrite, const RewriteCost& cost) {
    return Short(rewrite.Seconds(cost)) + " CPU seconds and " +
           Bytes(rewrite.bytes) + " to write";
  };
  console->Line(PolicyLine(family.filters));
  if (!family.same_reads.empty() && family.same_reads.back().remark.empty()) {
    const FilterEstimate& same = family.same_reads.back();
    console->Line("For at most " + Short(family.reads) +
                  " reads of an absent key: filter_policy=" +
                  PolicyText(same.policy_pattern, same.bits_per_key) +
                  ", filters of " + Bytes(same.bytes));
  }
  console->Line(
      "  to get there: set it and restart; compactions then replace the "
      "filters. All at once by CompactRange(): " +
      takes(family.all, kCompaction));
  if (family.by_refilter.tables > 0) {
    console->Line(
        "  or, with Deltabloom's policy, in the bytes that are there "
        "and while the database is closed, deltabloom refilter " +
        ShellWord(database.path) + ": " +
        Short(family.refiltered.absent_reads) + " reads of an absent key, " +
        takes(family.by_refilter, kRefilter));
  }
  console->Line(
      "  range filters: " +
      (family.range_filter_bytes > 0
           ? Bytes(family.range_filter_bytes) + " are there"
           : "none; with 8 bits per key they take " + Bytes(family.keys)) +
      ". What they save depends on the scans (docs/guide.md)");
}

void Show(const Database& database, const Family& family, Console* console) {
  console->Line("");
  std::string line = "column family " + family.name + ": " +
                     Count(family.keys) + " keys, " + Bytes(family.bytes);
  if (family.options != nullptr) {
    line +=
        ", filter_policy=" +
        (family.options->policy.empty() ? "nullptr" : family.options->policy);
  }
  console->Line(line);
  ShowLevels(family, console);
  console->Line("reads of an absent key now: " +
                (family.now.has_value()
                     ? Format("%.4f", family.now->absent_reads) + " data blocks"
                     : std::string("not known, as the rate of a filter is "
                                   "not")));
  if (family.filters.empty()) return;
  console->Line("");
  ShowFilters(family, console);
  console->Line("");
  ShowWays(database, family, console);
}

// Returns the trees and filters with which the page begins.
Json PageFamilies(const std::vector<Family>& families) {
  Json json = Json::array();
  for (const Family& family : families) {
    if (!(family.keys > 0)) continue;
    Json now;
    if (family.now.has_value()) {
      now = {{"reads", family.now->absent_reads}, {"bytes", family.now->bytes}};
    }
    const double bits = family.filters.back().bits_per_key;
    json.push_back({{"name", Escaped(family.name)},
                    {"keys", family.keys},
                    {"entry", family.bytes / family.keys},
                    {"bits", std::clamp(bits, 0.5, 100.0)},
                    {"tree", ToJson(family.tree)},
                    {"now", now}});
  }
  return json;
}

// Tables that compactions remove meanwhile are missing, so it is read again.
Database ReadAtOneTime(const std::string& path, Console* console) {
  constexpr int kTries = 3;
  for (int i = 1;; ++i) {
    Database database = ReadDatabase(path, {}, console);
    const bool whole = database.gone == 0 && database.unfinished == 0;
    if (whole || i == kTries) return database;
  }
}

// Throws if there is nothing to estimate.
void CheckDatabase(const Database& database) {
  for (const DatabaseTable& table : database.tables) {
    if (!table.is_leveldb) continue;
    throw std::runtime_error(
        database.path +
        ": has tables of LevelDB, and this command reads databases of "
        "RocksDB: see them with deltabloom inspect, and estimate a future "
        "database by --keys");
  }
  const bool has_levels =
      std::any_of(database.tables.begin(), database.tables.end(),
                  [](const DatabaseTable& table) { return table.level >= 0; });
  if (has_levels) return;
  if (!database.problems.empty()) {
    throw std::runtime_error(database.problems.front());
  }
  if (database.not_block_based > 0) {
    throw std::runtime_error(database.path +
                             ": has tables of PlainTable or CuckooTable only, "
                             "which have no such filters");
  }
  if (database.elsewhere == 0) {
    throw std::runtime_error(database.path +
                             ": has no tables yet: flush the database, or "
                             "estimate a future one by --keys");
  }
}

}  // namespace

ExitCode EstimateDatabase(const std::string& path, const Budget& budget,
                          const std::string& page, Console* console) {
  const Database database = ReadAtOneTime(path, console);
  CheckDatabase(database);
  std::vector<std::string> problems = database.problems;
  const auto missing = [&](uint64_t tables, const char* what) {
    if (tables == 0) return;
    problems.push_back(path + ": " + Count(tables, "table ", "tables ") + what);
  };
  missing(database.elsewhere,
          "not in this directory (db_paths, cf_paths): they are left out");
  missing(database.gone, "deleted meanwhile: run it again");
  missing(database.unfinished, "being written: run it again");
  LogStatistics statistics;
  const std::string log_problem = ReadLogStatistics(path, &statistics);
  if (!log_problem.empty()) problems.push_back(log_problem);
  for (const std::string& problem : problems) {
    console->Error("warning: " + problem);
  }

  std::vector<Family> families = FamiliesOf(database);
  std::optional<Total> total;
  if (budget.bytes > 0) total = FitTotal(budget.bytes, families);
  EstimateFamilies(budget, total, &families);
  if (!page.empty()) {
    const ExitCode written = WritePage(
        page, {}, 10,
        {{"database", Escaped(path)}, {"families", PageFamilies(families)}},
        console);
    if (written != kSuccess) return written;
  }
  console->Add("database", {{"path", path},
                            {"options_file", TextOrNull(database.options.name)},
                            {"rocksdb_version",
                             TextOrNull(database.options.rocksdb_version)}});
  console->Add("statistics", ToJson(statistics));
  console->Add("filter_memory", ToJson(total, budget));
  console->StartArray("column_families");
  console->Line(path + ": " +
                (database.options.name.empty()
                     ? "has no OPTIONS file, so filters are taken to be used"
                     : database.options.name + ", written by RocksDB " +
                           database.options.rocksdb_version));
  ShowStatistics(statistics, console);
  if (total.has_value()) ShowTotal(*total, budget, families, console);
  for (const Family& family : families) {
    console->AddElement(ToJson(family));
    Show(database, family, console);
  }
  return problems.empty() ? kSuccess : kUndecided;
}

}  // namespace deltabloom::tools
