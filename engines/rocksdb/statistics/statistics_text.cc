// Prints statistics as text, JSON and for Prometheus, and gives advice on them.
// docs/guide.md describes the rule of the advice.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "deltabloom/rocksdb_statistics.h"
#include "engines/rocksdb/statistics/statistics.h"
#include "util/json.h"
#include "util/version.h"

namespace deltabloom {
namespace {

using namespace internal;  // NOLINT
using Row = RocksDBFilterRow;

std::string LevelText(const Row& row) {
  return row.level < 0 ? "unknown" : std::to_string(row.level);
}

// Empty if it is not known.
std::string TextOf(const Row& row, const RowField& field) {
  if (field.member != nullptr) return std::to_string(row.*field.member);
  return row.rate_known ? NumberText(row.expected_false_positives) : "";
}

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

struct Column {
  const char* heading;
  std::string (*text)(const Row& row);
};
constexpr Column kColumns[] = {
    {"layout", [](const Row& row) { return row.layout; }},
    {"open", [](const Row& row) { return std::to_string(row.filters_open); }},
    {"MB",
     [](const Row& row) {
       return NumberText(static_cast<double>(row.bytes_open) / 1e6, 3);
     }},
    {"keys", [](const Row& row) { return std::to_string(row.keys_open); }},
    {"bits/key",
     [](const Row& row) {
       return row.keys_open == 0 ? "-" : NumberText(row.BitsPerKey(), 2);
     }},
    {"built", [](const Row& row) { return std::to_string(row.filters_built); }},
    {"loaded",
     [](const Row& row) { return std::to_string(row.filters_loaded); }},
    {"lookups", [](const Row& row) { return std::to_string(row.lookups); }},
    {"negatives", [](const Row& row) { return std::to_string(row.negatives); }},
    {"false positives",
     [](const Row& row) {
       return row.rate_known ? NumberText(row.expected_false_positives, 1)
                             : "-";
     }},
    {"%",
     [](const Row& row) {
       return row.rate_known && row.negatives != 0
                  ? NumberText(100 * row.FalsePositiveRate(), 4)
                  : "-";
     }},
};

std::vector<std::string> TextOfRow(const Row& row, const std::string& level) {
  std::vector<std::string> line = {level};
  for (const Column& column : kColumns) line.push_back(column.text(row));
  return line;
}

// Advice needs this many negatives; fewer have an error of over 3 %.
constexpr uint64_t kLeastNegatives = 1000;
// Advice must save at least this many reads per second and this share of all
// false positives, or it would go unnoticed; docs/guide.md promises both.
constexpr double kLeastReadsPerSecond = 1;
constexpr double kLeastShare = 0.1;
// Below, compact is mostly its fallback.
constexpr double kLeastKeysPerFilter = 1000;

// The default of BlockBasedTableOptions::block_size and metadata_block_size,
// before compression.
constexpr double kBlockBytes = 4096;

// A row whose filters could be of another layout.
struct Share {
  const Row* row;
  double absent;  // lookups of absent keys, per second
  double keys;
  double bits;  // per key
  double rate;
};

std::vector<Share> SharesOf(const RocksDBFilterStatistics& statistics) {
  std::vector<Share> shares;
  for (const Row& row : statistics.rows) {
    const double rate = row.FalsePositiveRate();
    if (!row.rate_known || row.negatives < kLeastNegatives ||
        row.keys_open == 0 || !(rate > 0) || statistics.seconds <= 0) {
      continue;
    }
    const double absent =
        static_cast<double>(row.negatives) + row.expected_false_positives;
    shares.push_back({&row, absent / statistics.seconds,
                      static_cast<double>(row.keys_open), row.BitsPerKey(),
                      rate});
  }
  return shares;
}

std::string NameOf(const Row& row) {
  return "level " + LevelText(row) + ", " + row.layout + ": " +
         NumberText(row.BitsPerKey(), 1) + " bits per key";
}

std::string PerSecond(double reads) {
  return NumberText(reads, reads < 10 ? 1 : 0) + " reads per second";
}

// Advises compact in the same bytes, whose rate is 2^-(0.98 bits).
void AddCompact(const std::vector<Share>& shares,
                std::vector<std::string>* lines) {
  double now = 0;
  for (const Share& share : shares) now += share.absent * share.rate;
  for (const Share& share : shares) {
    const Row& row = *share.row;
    if (row.layout == "compact" || row.level == 0 ||
        share.keys <
            kLeastKeysPerFilter * static_cast<double>(row.filters_open)) {
      continue;
    }
    const double compact = std::exp2(-0.98 * share.bits);
    const double saved = share.absent * (share.rate - compact);
    if (saved < kLeastReadsPerSecond || saved < kLeastShare * now) continue;
    lines->push_back(NameOf(row) + "; as many in compact would save " +
                     PerSecond(saved));
  }
}

// Filters that are dropped from the block cache and read again. What is open,
// and what was built, had to be read once; the rest is taken for repetition.
// A negative saves a data block.
void AddLoads(const RocksDBFilterStatistics& statistics,
              std::vector<std::string>* lines) {
  const Row total = statistics.Total();
  const auto loaded = static_cast<double>(total.bytes_loaded);
  const double again = loaded - static_cast<double>(total.bytes_open) -
                       static_cast<double>(total.bytes_built);
  const auto negatives = static_cast<double>(total.negatives);
  if (total.negatives < kLeastNegatives || again < kBlockBytes * negatives) {
    return;
  }
  const double of_each = loaded / static_cast<double>(total.filters_loaded);
  lines->push_back(
      "filters are read again and again: " + NumberText(again / 1e6, 1) +
      " MB, " + NumberText(again / negatives / 1e3, 1) +
      " kB for each key that they rejected, which saved a data block (4 kB by "
      "default). A filter has " +
      NumberText(of_each / 1e3, 1) +
      " kB; a partition of a partitioned filter has 4 kB by default. Or keep "
      "filters in memory: cache_index_and_filter_blocks=false, a larger block "
      "cache, or fewer bits_per_key, as deltabloom estimate DIR "
      "--filter-memory SIZE computes them");
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
  for (const Row& row : rows) AddRow(row, &total);
  return total;
}

std::string RocksDBFilterStatistics::ToJson() const {
  JsonWriter json;
  json.BeginObject().Key("version").String(kVersion);
  json.Key("seconds").Literal(NumberText(seconds)).Key("rows").BeginArray();
  for (const Row& row : rows) {
    json.BeginObject();
    json.Key("level").Literal(row.level < 0 ? "null" : LevelText(row));
    json.Key("layout").String(row.layout);
    for (const RowField& field : kRowFields) {
      const std::string value = TextOf(row, field);
      json.Key(field.name).Literal(value.empty() ? "null" : value);
      if (field.member != nullptr) continue;
      json.Key("false_positive_rate")
          .Literal(row.rate_known ? NumberText(row.FalsePositiveRate())
                                  : "null");
    }
    json.EndObject();
  }
  json.EndArray().Key("advice").BeginArray();
  for (const std::string& line : Advice()) json.String(line);
  return json.EndArray().EndObject().text();
}

std::string RocksDBFilterStatistics::ToPrometheus() const {
  // Names end in the unit, then _total for a counter.
  std::string text;
  for (const RowField& field : kRowFields) {
    const std::string name = std::string("deltabloom_") + field.metric;
    text += "# HELP " + name + " " + field.help + "\n# TYPE " + name +
            (field.is_counter ? " counter\n" : " gauge\n");
    for (const Row& row : rows) {
      const std::string value = TextOf(row, field);
      if (value.empty()) continue;
      text += name + "{level=\"" + LevelText(row) + "\",layout=\"" +
              row.layout + "\"} " + value + "\n";
    }
  }
  return text;
}

std::string RocksDBFilterStatistics::ToText() const {
  std::vector<std::vector<std::string>> lines = {{"level"}};
  for (const Column& column : kColumns) lines[0].push_back(column.heading);
  for (const Row& row : rows) lines.push_back(TextOfRow(row, LevelText(row)));
  const Row total = Total();
  lines.push_back(TextOfRow(total, "all"));
  std::string text = "Filters, by the level their tables were written for, " +
                     NumberText(seconds, 0) +
                     " s; false positives as expected:\n" + Aligned(lines);
  for (const std::string& line : Advice()) text += line + "\n";
  return text;
}

std::vector<std::string> RocksDBFilterStatistics::Advice() const {
  const std::vector<Share> shares = SharesOf(*this);
  std::vector<std::string> lines;
  AddLoads(*this, &lines);
  AddCompact(shares, &lines);
  return lines;
}

}  // namespace deltabloom
