#include "tools/deltabloom/verify/report.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "tools/program/console.h"

namespace deltabloom::tools {
namespace {

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

}  // namespace

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

}  // namespace deltabloom::tools
