#include "db_bench_ext/demo/report.h"

#include <rocksdb/version.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace deltabloom::demo {

namespace {

std::string Fixed(double value, int decimals) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", decimals, value);
  return text;
}

// 1234567 as 1,234,567.
std::string Grouped(uint64_t value) {
  std::string text = std::to_string(value);
  for (size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

double PerLookup(double sum, const LookupStats& stats) {
  return stats.lookups == 0 ? 0 : sum / static_cast<double>(stats.lookups);
}

double Reads(const LookupStats& stats) {
  return PerLookup(static_cast<double>(stats.data_block_reads), stats);
}

double Micros(const LookupStats& stats) {
  return PerLookup(stats.micros, stats);
}

// Pads cells to their column's width: the first column to the left, the others
// to the right.
std::string Align(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const std::vector<std::string>& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      line += i == 0 ? row[i] + padding : "  " + padding + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace

double Result::BitsPerKey() const {
  if (tables.filter_entries == 0) return 0;
  return 8 * static_cast<double>(tables.filter_bytes) /
         static_cast<double>(tables.filter_entries);
}

std::optional<double> Result::FalsePositiveRate() const {
  const LookupStats& absent = measurement.absent;
  const uint64_t asked = absent.filter_false_positives + absent.filter_useful;
  if (asked == 0) return std::nullopt;
  return static_cast<double>(absent.filter_false_positives) /
         static_cast<double>(asked);
}

std::string FormatSetting(uint64_t keys, double bits_per_key,
                          const std::string& folder, bool direct_io) {
  char bits[32];
  std::snprintf(bits, sizeof(bits), "%.10g", bits_per_key);
  return "RocksDB " + rocksdb::GetRocksVersionAsString() + ", " +
         Grouped(keys) + " keys (English words and pairs of them), " +
         std::to_string(KeySet::kValueBytes) + "-byte values, " + bits +
         " bits per key asked for.\nDatabases in " + folder +
         (direct_io ? "; direct reads, past the page cache.\n\n"
                    : "; no direct reads there, the page cache helps.\n\n");
}

std::string FormatRuns(
    const std::vector<std::unique_ptr<Database>>& databases) {
  std::vector<std::vector<std::string>> rows = {{"run", "files", "keys"},
                                                {"", "", ""}};
  for (const std::unique_ptr<Database>& database : databases) {
    rows[0].push_back("MB");
    rows[1].push_back(database->name());
  }
  const std::vector<SortedRun> shape = databases.front()->Runs();
  for (const SortedRun& run : shape) {
    rows.push_back({"level " + std::to_string(run.level), Grouped(run.files),
                    Grouped(run.keys)});
  }
  for (const std::unique_ptr<Database>& database : databases) {
    const std::vector<SortedRun> runs = database->Runs();
    for (size_t i = 0; i < runs.size(); ++i) {
      rows[i + 2].push_back(Fixed(static_cast<double>(runs[i].bytes) / 1e6, 1));
    }
  }
  return Align(rows);
}

std::string FormatTable(const std::vector<Result>& results) {
  std::vector<std::vector<std::string>> rows = {
      {"filter", "bits/key", "filter", "false", "block reads per Get", "",
       "microseconds per Get", "", "load", "missed"},
      {"", "stored", "bytes", "positives", "absent", "present", "absent",
       "present", "seconds", "keys"}};
  for (const Result& result : results) {
    const std::optional<double> rate = result.FalsePositiveRate();
    const Measurement& m = result.measurement;
    rows.push_back({result.filter, Fixed(result.BitsPerKey(), 2),
                    Grouped(result.tables.filter_bytes),
                    rate ? Fixed(*rate * 100, 3) + " %" : "-",
                    Fixed(Reads(m.absent), 4), Fixed(Reads(m.present), 4),
                    Fixed(Micros(m.absent), 1), Fixed(Micros(m.present), 1),
                    Fixed(result.load_seconds, 1),
                    Grouped(m.missed_present_keys)});
  }
  return Align(rows);
}

std::string FormatSummary(const std::vector<Result>& results) {
  const Result& first = results.front();
  const Result& last = results.back();
  const LookupStats& absent = last.measurement.absent;
  uint64_t checked = last.keys;
  for (const Result& result : results) {
    checked = std::min(checked, result.measurement.checked_keys);
  }
  std::string text =
      "In each database: " + Grouped(absent.lookups) +
      " lookups of absent keys, " + Grouped(last.measurement.present.lookups) +
      " of present ones, and one of " +
      (checked == last.keys
           ? "every key.\n"
           : Grouped(checked) + " keys or more, as time allowed.\n");
  const double before = Reads(first.measurement.absent);
  const double after = Reads(absent);
  if (before > 0) {
    text += "For an absent key " + last.filter + " reads " + Fixed(after, 4) +
            " data blocks instead of " + Fixed(before, 4) + ": " +
            Fixed((1 - after / before) * 100, 1) + " % fewer.\n";
  }
  for (const Result& result : results) {
    const uint64_t missed = result.measurement.missed_present_keys;
    if (missed > 0) {
      text += "WRONG: " + result.filter + " missed " + Grouped(missed) +
              " lookups of present keys.\n";
    }
  }
  return text;
}

std::string FormatJson(const std::vector<Result>& results) {
  nlohmann::ordered_json runs = nlohmann::ordered_json::array();
  for (const Result& result : results) {
    const Measurement& m = result.measurement;
    const std::optional<double> rate = result.FalsePositiveRate();
    nlohmann::ordered_json run;
    run["filter"] = result.filter;
    run["keys"] = result.keys;
    run["bits_per_key"] = result.BitsPerKey();
    run["filter_bytes"] = result.tables.filter_bytes;
    run["false_positive_rate"] = nullptr;
    if (rate) run["false_positive_rate"] = *rate;
    run["absent_data_block_reads_per_lookup"] = Reads(m.absent);
    run["present_data_block_reads_per_lookup"] = Reads(m.present);
    run["absent_micros_per_lookup"] = Micros(m.absent);
    run["present_micros_per_lookup"] = Micros(m.present);
    run["load_seconds"] = result.load_seconds;
    run["missed_present_keys"] = m.missed_present_keys;
    runs.push_back(run);
  }
  nlohmann::ordered_json document;
  document["runs"] = runs;
  return document.dump(2) + "\n";
}

int ExitCode(const std::vector<Result>& results) {
  return std::any_of(results.begin(), results.end(), [](const Result& result) {
    return result.measurement.missed_present_keys > 0;
  });
}

}  // namespace deltabloom::demo
