#include "tools/deltabloom/estimate/show.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "deltabloom/filter.h"
#include "engines/rocksdb/base/options.h"
#include "tools/deltabloom/database/log_statistics.h"
#include "tools/deltabloom/estimate/families.h"
#include "tools/deltabloom/estimate/model.h"
#include "tools/deltabloom/estimate/text.h"
#include "tools/program/console.h"
#include "util/json.h"

namespace deltabloom::tools {
namespace {

Json ToJson(const std::optional<Outcomes>& outcomes, const char* part) {
  if (!outcomes.has_value()) return {};
  return {{"all", outcomes->all},
          {part, outcomes->part},
          {"share", outcomes->Share()}};
}

Json ToJson(const Rewrite& rewrite, const RewriteCost& cost) {
  return {{"tables", rewrite.tables},
          {"cpu_seconds", rewrite.Seconds(cost)},
          {"write_bytes", rewrite.bytes}};
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

// Returns what the column family is set to now.
std::string SettingText(const Family& family) {
  if (family.options == nullptr) return "not known";
  if (!family.HasDeltabloom()) {
    return family.options->policy.empty() ? "nullptr" : family.options->policy;
  }
  return "bits_per_key=" +
         internal::NumberText(PolicyOf(family).MillibitsPerKey() / 1000.0);
}

void ShowWays(const std::string& path, const Family& family, Console* console) {
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
        ShellWord(path) + ": " + Short(family.refiltered.absent_reads) +
        " reads of an absent key, " + takes(family.by_refilter, kRefilter));
  }
  console->Line(
      "  range filters: " +
      (family.range_filter_bytes > 0
           ? Bytes(family.range_filter_bytes) + " are there"
           : "none; with 8 bits per key they take " + Bytes(family.keys)) +
      ". What they save depends on the scans (docs/guide.md)");
}

}  // namespace

Json ToJson(const LogStatistics& statistics) {
  if (statistics.file.empty()) return {};
  return {{"file", statistics.file},
          {"time", statistics.time},
          {"gets", ToJson(statistics.gets, "missed")},
          {"filtered", ToJson(statistics.filtered, "passed")},
          {"seeks", ToJson(statistics.seeks, "missed")},
          {"run_seeks", ToJson(statistics.run_seeks, "without_value")}};
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

void ShowFamily(const std::string& path, const Family& family,
                Console* console) {
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
  ShowWays(path, family, console);
}

}  // namespace deltabloom::tools
