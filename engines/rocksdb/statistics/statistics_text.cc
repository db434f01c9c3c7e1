// The statistics in words: for people, as JSON, for Prometheus.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "deltabloom/rocksdb_statistics.h"
#include "util/number_text.h"
#include "util/version.h"

namespace deltabloom {
namespace {

using internal::NumberText;

using Row = RocksDBFilterRow;
using Rows = std::vector<Row>;

std::string LevelText(const Row& row) {
  return row.level < 0 ? "unknown" : std::to_string(row.level);
}

// All texts here are ours, and hold nothing that JSON or Prometheus escapes.
std::string Quoted(const std::string& text) { return '"' + text + '"'; }

std::string JsonOfRow(const Row& row) {
  const std::pair<const char*, std::string> members[] = {
      {"level", row.level < 0 ? "null" : std::to_string(row.level)},
      {"layout", Quoted(row.layout)},
      {"filters_built", std::to_string(row.filters_built)},
      {"bytes_built", std::to_string(row.bytes_built)},
      {"keys_built", std::to_string(row.keys_built)},
      {"filters_open", std::to_string(row.filters_open)},
      {"bytes_open", std::to_string(row.bytes_open)},
      {"keys_open", std::to_string(row.keys_open)},
      {"lookups", std::to_string(row.lookups)},
      {"negatives", std::to_string(row.negatives)},
      {"expected_false_positives",
       row.rate_known ? NumberText(row.expected_false_positives) : "null"},
      {"false_positive_rate",
       row.rate_known ? NumberText(row.FalsePositiveRate()) : "null"},
      {"range_lookups", std::to_string(row.range_lookups)},
      {"range_negatives", std::to_string(row.range_negatives)},
  };
  std::string json;
  for (const auto& [name, value] : members) {
    json += (json.empty() ? "{" : ",") + Quoted(name) + ":" + value;
  }
  return json + "}";
}

// One metric of Prometheus: a sample for each row.
struct Metric {
  const char* name;
  const char* type;
  const char* help;
  std::string (*value)(const Row& row);  // empty: no sample
};

template <uint64_t Row::*kMember>
std::string Member(const Row& row) {
  return std::to_string(row.*kMember);
}

// Names by the conventions of Prometheus: the unit in the end, then _total for
// a counter.
const Metric kMetrics[] = {
    {"deltabloom_filters_built_total", "counter",
     "Filters built, by the level their tables were written for.",
     Member<&Row::filters_built>},
    {"deltabloom_filters_built_bytes_total", "counter",
     "Bytes of the filters built.", Member<&Row::bytes_built>},
    {"deltabloom_filters_built_keys_total", "counter",
     "Keys and prefixes added to the filters built.", Member<&Row::keys_built>},
    {"deltabloom_filters_open", "gauge", "Filters that are open.",
     Member<&Row::filters_open>},
    {"deltabloom_filters_open_bytes", "gauge", "Bytes of the open filters.",
     Member<&Row::bytes_open>},
    {"deltabloom_filters_open_keys", "gauge",
     "Keys of the open filters, estimated from their bits or their shape.",
     Member<&Row::keys_open>},
    {"deltabloom_filter_lookups_total", "counter",
     "Keys that filters were asked for.", Member<&Row::lookups>},
    {"deltabloom_filter_negatives_total", "counter",
     "Keys that filters turned away: each a read of a data block spared.",
     Member<&Row::negatives>},
    {"deltabloom_filter_expected_false_positives_total", "counter",
     "Absent keys that filters are expected to have let through, by the "
     "negatives and the rate of each filter.",
     [](const Row& row) {
       return row.rate_known ? NumberText(row.expected_false_positives)
                             : std::string();
     }},
    {"deltabloom_filter_range_lookups_total", "counter",
     "Seeks that filters were asked about as ranges.",
     Member<&Row::range_lookups>},
    {"deltabloom_filter_range_negatives_total", "counter",
     "Ranges that filters turned away: each a read of a data block spared.",
     Member<&Row::range_negatives>},
};

// A table whose columns are as wide as they need; the first two to the left.
std::string Aligned(const std::vector<std::vector<std::string>>& lines) {
  std::vector<size_t> widths(lines.front().size());
  for (const auto& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) {
      widths[i] = std::max(widths[i], line[i].size());
    }
  }
  std::string text;
  for (const auto& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) {
      const std::string space(widths[i] - line[i].size(), ' ');
      text +=
          (i == 0 ? "" : "  ") + (i < 2 ? line[i] + space : space + line[i]);
    }
    text += '\n';
  }
  return text;
}

std::vector<std::string> TextOfRow(const Row& row, const std::string& level) {
  const bool asked = row.rate_known && row.negatives != 0;
  return {level,
          row.layout,
          std::to_string(row.filters_open),
          NumberText(static_cast<double>(row.bytes_open) / 1e6, 3),
          std::to_string(row.keys_open),
          row.keys_open == 0 ? "-" : NumberText(row.BitsPerKey(), 2),
          std::to_string(row.filters_built),
          std::to_string(row.lookups),
          std::to_string(row.negatives),
          row.rate_known ? NumberText(row.expected_false_positives, 1) : "-",
          asked ? NumberText(100 * row.FalsePositiveRate(), 4) : "-"};
}

}  // namespace

double RocksDBFilterRow::FalsePositiveRate() const {
  if (negatives == 0) return 0;
  return expected_false_positives /
         (expected_false_positives + static_cast<double>(negatives));
}

double RocksDBFilterRow::BitsPerKey() const {
  if (keys_open == 0) return 0;
  return 8 * static_cast<double>(bytes_open) / static_cast<double>(keys_open);
}

RocksDBFilterRow RocksDBFilterStatistics::Total() const {
  RocksDBFilterRow total;
  for (const RocksDBFilterRow& row : rows) {
    total.filters_built += row.filters_built;
    total.bytes_built += row.bytes_built;
    total.keys_built += row.keys_built;
    total.lookups += row.lookups;
    total.negatives += row.negatives;
    total.range_lookups += row.range_lookups;
    total.range_negatives += row.range_negatives;
    total.expected_false_positives += row.expected_false_positives;
    total.rate_known = total.rate_known || row.rate_known;
    total.filters_open += row.filters_open;
    total.bytes_open += row.bytes_open;
    total.keys_open += row.keys_open;
  }
  return total;
}

std::string RocksDBFilterStatistics::ToJson() const {
  std::string json = "{" + Quoted("version") + ":" +
                     Quoted(internal::kVersion) + "," + Quoted("seconds") +
                     ":" + NumberText(seconds) + "," + Quoted("rows") + ":[";
  for (const RocksDBFilterRow& row : rows) {
    if (json.back() != '[') json += ',';
    json += JsonOfRow(row);
  }
  json += "]," + Quoted("advice") + ":[";
  for (const std::string& line : Advice()) {
    if (json.back() != '[') json += ',';
    json += Quoted(line);
  }
  return json + "]}";
}

std::string RocksDBFilterStatistics::ToPrometheus() const {
  std::string text;
  for (const Metric& metric : kMetrics) {
    const std::string name = metric.name;
    text += "# HELP " + name + " " + metric.help + "\n";
    text += "# TYPE " + name + " " + metric.type + "\n";
    for (const RocksDBFilterRow& row : rows) {
      const std::string value = metric.value(row);
      if (value.empty()) continue;
      text += name + "{level=" + Quoted(LevelText(row)) +
              ",layout=" + Quoted(row.layout) + "} " + value + "\n";
    }
  }
  return text;
}

std::string RocksDBFilterStatistics::ToText() const {
  std::vector<std::vector<std::string>> lines = {
      {"level", "layout", "open", "MB", "keys", "bits/key", "built", "lookups",
       "negatives", "false positives", "%"}};
  for (const RocksDBFilterRow& row : rows) {
    lines.push_back(TextOfRow(row, LevelText(row)));
  }
  lines.push_back(TextOfRow(Total(), "all"));
  std::string text = "Filters, by the level their tables were written for, " +
                     NumberText(seconds, 0) +
                     " s; false positives as expected:\n" + Aligned(lines);
  const RocksDBFilterRow total = Total();
  if (total.range_lookups != 0) {
    text += "Ranges: " + std::to_string(total.range_lookups) + " asked, " +
            std::to_string(total.range_negatives) + " turned away\n";
  }
  for (const std::string& line : Advice()) text += line + "\n";
  return text;
}

}  // namespace deltabloom
