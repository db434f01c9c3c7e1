#include "tools/deltabloom/estimate_output.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

namespace deltabloom::tools {
namespace {

std::string Format(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

// Three digits that count: "123", "4.56", ".00123".
std::string Short(double value) {
  if (value == 0) return "0";
  const int digits =
      std::max(0, 2 - static_cast<int>(std::floor(std::log10(value))));
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", std::min(digits, 12), value);
  return text;
}

// "1.2 GiB".
std::string Bytes(double bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  while (bytes >= 1000 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  return (unit == 0 ? Format("%.0f", bytes) : Short(bytes)) + " " +
         kUnits[unit];
}

// With a comma for each thousand.
std::string Count(double number) {
  std::string text = Format("%.0f", number);
  for (size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, ",");
  return text;
}

std::string BitsByLevel(const FilterEstimate& estimate) {
  std::string text;
  for (const LevelFilters& level : estimate.levels) {
    if (!text.empty()) text += ' ';
    text += level.bits_per_key == 0 ? "-" : Format("%.1f", level.bits_per_key);
    if (estimate.allocation == "uniform") break;
  }
  return text;
}

using Cells = std::vector<std::string>;

// Columns as wide as they need; the first `left` to the left.
void ShowTable(const std::vector<Cells>& rows, size_t left, Console* console) {
  std::vector<size_t> widths;
  for (const Cells& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  for (const Cells& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - row[i].size(), ' ');
      line +=
          (i == 0 ? "" : "  ") + (i < left ? row[i] + space : space + row[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    console->Line(line);
  }
}

void ShowTree(const TreeOptions& options, const std::vector<TreeLevel>& tree,
              Console* console) {
  console->Line(Count(options.keys) + " keys of " +
                Format("%g", options.entry_bytes) + " bytes, " +
                Bytes(options.keys * options.entry_bytes) + ", size ratio " +
                Format("%g", options.size_ratio));
  console->Line("");
  std::vector<Cells> rows = {{"", "sorted runs", "tables", "keys", "% of all"}};
  for (const TreeLevel& level : tree) {
    rows.push_back({level.name, Count(level.runs), Count(level.tables),
                    Count(level.keys), Short(100 * level.keys / options.keys)});
  }
  ShowTable(rows, 1, console);
}

void ShowFilters(const std::vector<FilterEstimate>& estimates,
                 Console* console) {
  std::vector<Cells> rows = {
      {"filter", "allocation", "bits per key", "memory", "reads of", "reads of",
       "fewer than", "building", ""},
      {"", "", "by level", "of filters", "absent key", "present key",
       "rocksdb-bloom", "a filter", ""}};
  const double baseline = estimates.front().absent_reads;
  for (const FilterEstimate& estimate : estimates) {
    rows.push_back({estimate.filter, estimate.allocation, BitsByLevel(estimate),
                    Bytes(estimate.bytes), Short(estimate.absent_reads),
                    Format("%.4f", estimate.present_reads),
                    Short(baseline / estimate.absent_reads) + " x",
                    Bytes(estimate.build_bytes), estimate.remark});
  }
  ShowTable(rows, 3, console);
}

// The fewest reads, or for a budget of reads the least memory; of equals the
// last, which chooses for itself.
const FilterEstimate& Best(const std::vector<FilterEstimate>& estimates) {
  return *std::min_element(
      estimates.rbegin(), estimates.rend(),
      [](const FilterEstimate& a, const FilterEstimate& b) {
        return a.absent_reads * a.bytes < b.absent_reads * b.bytes;
      });
}

std::string Advice(const std::vector<FilterEstimate>& estimates) {
  const FilterEstimate& best = Best(estimates);
  if (best.filter.compare(0, 7, "rocksdb") == 0) return {};
  std::string options = "bits_per_key=" + Format("%.3g", best.BitsPerKey()) +
                        ";layout=" + best.filter;
  std::string line;
  if (best.allocation == "levels") {
    options += ";allocation=levels";
    line = ", and the listener that goes with it (docs/guide.md, Levels)";
  }
  return "Most for the memory: filter_policy={id=deltabloom;" + options + "}" +
         line;
}

void ShowJson(const TreeOptions& options, const std::vector<TreeLevel>& tree,
              const std::vector<FilterEstimate>& estimates, JsonOutput* json) {
  json->Number("keys", options.keys);
  json->Number("entry_bytes", options.entry_bytes);
  json->Number("size_ratio", options.size_ratio);
  {
    const auto levels = json->Array("levels");
    for (const TreeLevel& level : tree) {
      const auto one = json->Object();
      json->Text("name", level.name);
      json->Number("runs", level.runs);
      json->Number("tables", level.tables);
      json->Number("keys", level.keys);
    }
  }
  const auto filters = json->Array("filters");
  for (const FilterEstimate& estimate : estimates) {
    const auto one = json->Object();
    json->Text("filter", estimate.filter);
    json->Text("allocation", estimate.allocation);
    json->Number("bytes", estimate.bytes);
    json->Number("bits_per_key", estimate.BitsPerKey());
    json->Number("absent_reads", estimate.absent_reads);
    json->Number("present_reads", estimate.present_reads);
    json->Number("build_bytes", estimate.build_bytes);
    if (!estimate.remark.empty()) json->Text("remark", estimate.remark);
    const auto levels = json->Array("levels");
    for (const LevelFilters& level : estimate.levels) {
      const auto inner = json->Object();
      json->Number("bits_per_key", level.bits_per_key);
      if (!level.layout.empty()) json->Text("layout", level.layout);
      json->Number("false_positive_rate", level.rate);
      json->Number("bytes", level.bytes);
    }
  }
}

}  // namespace

void ShowEstimates(const TreeOptions& options,
                   const std::vector<TreeLevel>& tree,
                   const std::vector<FilterEstimate>& estimates,
                   Console* console) {
  if (console->json() != nullptr) {
    ShowJson(options, tree, estimates, console->json());
    return;
  }
  ShowTree(options, tree, console);
  console->Line("");
  ShowFilters(estimates, console);
  const std::string advice = Advice(estimates);
  if (!advice.empty()) {
    console->Line("");
    console->Line(advice);
  }
}

}  // namespace deltabloom::tools
