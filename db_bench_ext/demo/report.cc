#include "db_bench_ext/demo/report.h"

#include <rocksdb/version.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "db_bench_ext/common/results.h"
#include "db_bench_ext/demo/competitors.h"

namespace deltabloom::demo {

using bench::Fixed;
using bench::TextTable;
using bench::WithThousands;

namespace {

double PerLookup(double sum, const LookupStats& stats) {
  return stats.lookups == 0 ? 0 : sum / static_cast<double>(stats.lookups);
}

double Reads(const LookupStats& stats) {
  return PerLookup(static_cast<double>(stats.data_block_reads), stats);
}

double Micros(const LookupStats& stats) {
  return PerLookup(stats.micros, stats);
}

const Result* Find(const std::vector<Result>& results, const char* filter) {
  const auto found = std::find_if(
      results.begin(), results.end(),
      [&](const Result& result) { return result.filter == filter; });
  return found == results.end() ? nullptr : &*found;
}

// The one with the fewest reads for an absent key of those with at most as many
// bytes as `bloom`, but for a hundredth; `bloom` itself if none has fewer.
const Result& BestAtEqualBytes(const std::vector<Result>& results,
                               const Result& bloom) {
  const double bytes = 1.01 * static_cast<double>(bloom.tables.filter_bytes);
  const Result* best = &bloom;
  for (const Result& result : results) {
    if (result.tables.filter_bytes > 0 &&
        static_cast<double>(result.tables.filter_bytes) <= bytes &&
        Reads(result.measurement.absent) < Reads(best->measurement.absent)) {
      best = &result;
    }
  }
  return *best;
}

std::string FormatBest(const std::vector<Result>& results) {
  const Result* const bloom = Find(results, kRocksDBBloom);
  if (bloom == nullptr) return "";
  const double before = Reads(bloom->measurement.absent);
  const Result& best = BestAtEqualBytes(results, *bloom);
  std::string text;
  if (&best == bloom) {
    text = "With the bytes of " + bloom->filter +
           " no filter reads fewer data blocks for an absent key than its " +
           Fixed(before, 4) + ".\n";
  } else {
    const double after = Reads(best.measurement.absent);
    text = "With the bytes of " + bloom->filter + ", " + best.filter +
           " reads the fewest: " + Fixed(after, 4) +
           " data blocks for an absent key\ninstead of " + Fixed(before, 4);
    if (after > 0) {
      text += ", " + Fixed(before / after, before < 10 * after ? 1 : 0) +
              " times fewer";
    }
    text += ", in " + Fixed(Micros(best.measurement.absent), 1) +
            " microseconds instead of " +
            Fixed(Micros(bloom->measurement.absent), 1) + ".\n";
  }
  const Result& none = results.front();
  if (none.tables.filter_bytes == 0) {
    text += "Without a filter: " + Fixed(Reads(none.measurement.absent), 4) +
            " data blocks, " + Fixed(Micros(none.measurement.absent), 1) +
            " microseconds.\n";
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
  return "RocksDB " + rocksdb::GetRocksVersionAsString() + ", " +
         WithThousands(keys) + " keys (English words and pairs of them), " +
         std::to_string(KeySet::kValueBytes) + "-byte values, " +
         bench::Significant(bits_per_key, 10) +
         " bits per key asked for.\nDatabases in " + folder +
         (direct_io ? "; direct reads, past the page cache.\n\n"
                    : "; no direct reads there, the page cache helps.\n\n");
}

std::string FormatRuns(const std::vector<SortedRun>& runs) {
  TextTable table({"run", "files", "keys", "MB"});
  for (const SortedRun& run : runs) {
    table.Add({"level " + std::to_string(run.level), WithThousands(run.files),
               WithThousands(run.keys),
               Fixed(static_cast<double>(run.bytes) / 1e6, 1)});
  }
  return table.Text();
}

std::string FormatTable(const std::vector<Result>& results) {
  TextTable table({"filter", "bits/key", "filter", "false",
                   "block reads per Get", "", "microseconds per Get", "",
                   "load", "missed"});
  table.Add({"", "stored", "bytes", "positives", "absent", "present", "absent",
             "present", "seconds", "keys"});
  for (const Result& result : results) {
    const std::optional<double> rate = result.FalsePositiveRate();
    const Measurement& m = result.measurement;
    table.Add({result.filter, Fixed(result.BitsPerKey(), 2),
               WithThousands(result.tables.filter_bytes),
               rate ? Fixed(*rate * 100, 3) + " %" : "-",
               Fixed(Reads(m.absent), 4), Fixed(Reads(m.present), 4),
               Fixed(Micros(m.absent), 1), Fixed(Micros(m.present), 1),
               Fixed(result.load_seconds, 1),
               WithThousands(m.missed_present_keys)});
  }
  return table.Text();
}

std::string FormatSummary(const std::vector<Result>& results) {
  const Result& last = results.back();
  const LookupStats& absent = last.measurement.absent;
  uint64_t checked = last.keys;
  for (const Result& result : results) {
    checked = std::min(checked, result.measurement.checked_keys);
  }
  std::string text =
      "In each database: " + WithThousands(absent.lookups) +
      " lookups of absent keys, " +
      WithThousands(last.measurement.present.lookups) +
      " of present ones, and one of " +
      (checked == last.keys
           ? "every key.\n"
           : WithThousands(checked) + " keys or more, as time allowed.\n");
  text += FormatBest(results);
  for (const Result& result : results) {
    const uint64_t missed = result.measurement.missed_present_keys;
    if (missed > 0) {
      text += "WRONG: " + result.filter + " missed " + WithThousands(missed) +
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
