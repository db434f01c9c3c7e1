#include <rocksdb/version.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "db_bench_ext/common/results.h"
#include "db_bench_ext/demo/contenders.h"
#include "db_bench_ext/demo/database.h"
#include "db_bench_ext/demo/growth.h"
#include "db_bench_ext/demo/loading.h"
#include "db_bench_ext/demo/options.h"
#include "db_bench_ext/demo/phases.h"
#include "db_bench_ext/demo/scans.h"
#include "db_bench_ext/demo/schemas.h"
#include "db_bench_ext/demo/tree.h"
#include "deltabloom/rocksdb.h"

namespace deltabloom::demo {

using bench::Column;
using bench::Fixed;
using bench::Json;
using bench::WithThousands;

namespace {

constexpr char kAbsentReads[] = "absent_data_block_reads_per_lookup";
constexpr char kAbsentMicros[] = "absent_micros_per_lookup";
constexpr char kFalsePositives[] = "false_positives_per_lookup";

double Divide(double sum, uint64_t by) {
  return by == 0 ? 0 : sum / static_cast<double>(by);
}

Json OrNull(std::optional<double> value) {
  return value ? Json(*value) : Json();
}

void AddCounts(Lookup lookup, const Counts& counts, Json* row) {
  const std::string name = LookupName(lookup);
  (*row)[name + "_lookups"] = counts.lookups;
  (*row)[name + "_data_block_reads_per_lookup"] =
      Divide(static_cast<double>(counts.data_block_reads), counts.lookups);
  (*row)[name + "_data_blocks_per_lookup"] =
      Divide(static_cast<double>(counts.data_blocks), counts.lookups);
  (*row)[name + "_micros_per_lookup"] = Divide(counts.micros, counts.lookups);
}

void AddPrediction(const Database& database, const Counts& absent,
                   const std::vector<std::string>& sample, Json* row) {
  const Prediction prediction = Predict(database.tree(), sample);
  (*row)["absent_counting_error"] =
      std::sqrt(Divide(prediction.variance, absent.lookups));
  (*row)["absent_predicted"] = OrNull(prediction.absent);
  (*row)["present_predicted"] = OrNull(prediction.present);
}

void AddRuns(const Tree& tree, Json* row) {
  std::string bits, levels;
  for (const Run& run : tree.runs) {
    const uint64_t entries = run.Sum(&Table::entries);
    const uint64_t bytes = run.Sum(&Table::filter_bytes);
    (*row)["runs"].push_back({{"level", run.level},
                              {"tables", run.tables.size()},
                              {"entries", entries},
                              {"filter_keys", run.Sum(&Table::filter_keys)},
                              {"filter_bytes", bytes}});
    bits += (bits.empty() ? "" : " ") +
            Fixed(8 * Divide(static_cast<double>(bytes), entries), 1);
    levels += (levels.empty() ? "" : " ") + std::to_string(run.level);
  }
  (*row)["levels"] = levels;
  (*row)["bits_per_key_of_runs"] = bits;
}

// False positives per lookup, and their standard error.
void AddFalsePositives(const Counts& counts, Json* row) {
  const auto sum = static_cast<double>(counts.FalsePositives());
  (*row)["lookups"] = counts.lookups;
  (*row)[kFalsePositives] = Divide(sum, counts.lookups);
  (*row)["error"] = Divide(std::sqrt(sum), counts.lookups);
}

uint64_t TablesOf(const Tree& tree) {
  uint64_t tables = 0;
  for (const Run& run : tree.runs) tables += run.tables.size();
  return tables;
}

std::vector<Column> ColumnsOf(const std::string& preset) {
  if (preset == "demo") {
    return {{"filter", "filter"},
            {"bits_per_key", "bits/key", "%.2f"},
            {"filter_bytes", "filter bytes"},
            {"false_positive_rate", "false %", "%.3g", 100},
            {"absent_lookups", "lookups: absent"},
            {kAbsentReads, "reads", "%.4f"},
            {"present_lookups", "present"},
            {"present_data_block_reads_per_lookup", "reads", "%.4f"},
            {"missed_present_keys", "missed"}};
  }
  return {{"filter", "filter"},
          {"bits_per_key", "bits/key", "%.2f"},
          {"absent_lookups", "lookups"},
          {kAbsentMicros, "us: Get absent", "%.3f"},
          {"multiget_absent_micros_per_lookup", "MultiGet", "%.3f"},
          {"present_micros_per_lookup", "Get present", "%.3f"}};
}

const Json* Find(const Json& results, const std::string& filter) {
  for (const Json& row : results) {
    if (row["filter"] == filter) return &row;
  }
  return nullptr;
}

double Get(const Json& row, const char* field) { return row[field]; }

std::string FormatMissed(const Json& results) {
  std::string text;
  for (const Json& row : results) {
    if (row["missed_present_keys"] == 0) continue;
    text += "WRONG: " + row["filter"].get<std::string>() + " missed " +
            WithThousands(row["missed_present_keys"]) +
            " lookups of present keys.\n";
  }
  return text;
}

// What a lookup of an absent key costs, and the bytes of the filters.
std::string CostOf(const Json& row) {
  return row["filter"].get<std::string>() + ": " +
         Fixed(Get(row, kAbsentReads), 4) + " data blocks, " +
         WithThousands(row["filter_bytes"]) + " bytes of filters.\n";
}

std::string FormatSavings(const Json& results) {
  const Json* const bloom = Find(results, kRocksDBBloom);
  const Json* const ours = Find(results, kDefault);
  if (bloom == nullptr || ours == nullptr) return "";
  std::string text = "\nFor an absent key:\n";
  for (const Json* const row : {Find(results, kNoFilter), bloom, ours}) {
    if (row != nullptr) text += CostOf(*row);
  }
  const double before = Get(*bloom, kAbsentReads);
  const double after = Get(*ours, kAbsentReads);
  if (after == 0) return text;
  const double more =
      Get(*ours, "filter_bytes") / Get(*bloom, "filter_bytes") - 1;
  return text + kDefault + " reads " +
         Fixed(before / after, before < 10 * after ? 1 : 0) +
         " times fewer data blocks than " + kRocksDBBloom + ", with " +
         Fixed(100 * std::abs(more), 1) + " % " +
         (more < 0 ? "fewer" : "more") + " bytes of filters.\n";
}

}  // namespace

Json ResultOf(const Database& database, const TreePlan& plan,
              const std::vector<TurnPart>& turn,
              const std::vector<Counts>& counts,
              const std::vector<std::string>& absent) {
  const Tree& tree = database.tree();
  Json row;
  row["filter"] = database.name();
  row["tree"] = plan.name;
  row["keys"] = plan.keys;
  row["entries"] = tree.Sum(&Table::entries);
  row["setting"] = database.setting();
  row["bits_per_key"] = tree.BitsPerKey();
  row["filter_bytes"] = tree.Sum(&Table::filter_bytes);
  // Per filter that was asked about an absent key.
  const double wrong = static_cast<double>(counts[0].FalsePositives());
  row["false_positive_rate"] =
      wrong / (wrong + static_cast<double>(counts[0].filter_useful));
  uint64_t missed = 0;
  for (size_t i = 0; i < turn.size(); ++i) {
    AddCounts(turn[i].lookup, counts[i], &row);
    if (turn[i].lookup == Lookup::kPresent) {
      missed += counts[i].lookups - counts[i].found;
    }
  }
  row["load_seconds"] = database.load_seconds();
  row["missed_present_keys"] = missed;
  AddPrediction(database, counts[0], absent, &row);
  AddRuns(tree, &row);
  return row;
}

Json ResultOfScans(const Schema& schema, const ScannedDatabase& database) {
  const Tree& tree = database.database().tree();
  const uint64_t entries = tree.Sum(&Table::entries);
  Json row;
  row["schema"] = schema.name;
  row["filter"] = database.name();
  row["keys"] = entries;
  row["runs"] = tree.runs.size();
  row["tables"] = TablesOf(tree);
  row["filter_bytes"] = tree.Sum(&Table::filter_bytes);
  const uint64_t property_bytes = database.PropertyBytes();
  row["property_bytes"] = property_bytes;
  row["property_bits_per_key"] =
      8 * Divide(static_cast<double>(property_bytes), entries);
  row["build_nanos_per_key"] = bench::Median(database.build_nanos());
  row["compressed_build_nanos_per_key"] =
      bench::Median(database.compressed_build_nanos());
  uint64_t wrong = 0;
  for (size_t kind = 0; kind < kScanKinds.size(); ++kind) {
    const std::string name = kScanKinds[kind].name;
    const ScanCounts& counts = database.counts(kind);
    row[name + "_scans"] = counts.scans;
    row[name + "_data_blocks_per_scan"] =
        Divide(static_cast<double>(counts.data_blocks), counts.scans);
    row[name + "_tables_asked_per_scan"] =
        Divide(static_cast<double>(counts.tables_asked), counts.scans);
    row[name + "_micros_per_scan"] = bench::Median(counts.micros);
    wrong += counts.wrong;
  }
  row["wrong_scans"] = wrong;
  return row;
}

Json ResultOfLoading(const TreePlan& plan, const LoadingResult& result) {
  const auto per_lookup = [&](uint64_t sum) {
    return Divide(static_cast<double>(sum), result.lookups);
  };
  Json row;
  row["tree"] = plan.name;
  row["keys"] = plan.keys;
  row["filter"] = result.filter;
  row["cache"] = result.cache.name;
  row["cache_share"] = result.cache.share;
  row["cache_bytes"] = result.cache_bytes;
  row["cache_index_and_filter_blocks"] = result.cache.filters_in_cache;
  row["bits_per_key"] = result.bits_per_key;
  row["filter_bytes"] = result.filter_bytes;
  row["filters_opened"] = result.filters_opened;
  row["filters_dropped_by_cache"] = result.filters_dropped_by_cache;
  row["absent_lookups"] = result.lookups;
  row["absent_bytes_read_per_lookup"] = per_lookup(result.bytes);
  row["absent_filter_bytes_read_per_lookup"] =
      per_lookup(result.filter_bytes_read);
  row["absent_filters_loaded_per_lookup"] = per_lookup(result.filters_loaded);
  row["absent_block_reads_per_lookup"] = per_lookup(result.blocks);
  row[kAbsentReads] = per_lookup(result.data_blocks);
  row["missed_present_keys"] = result.missed_present_keys;
  return row;
}

Json ResultOfGrowth(const GrownTree& grown, const Database& database,
                    const Counts& counts, const std::vector<double>& steps,
                    const std::vector<std::string>& absent) {
  const Tree& tree = database.tree();
  const double setting = database.setting();
  Json row;
  row["tree"] = grown.name;
  row["filter"] = database.name();
  row["keys"] = grown.keys;
  row["entries"] = tree.Sum(&Table::entries);
  row["tables"] = TablesOf(tree);
  row["setting"] = setting;
  row["bits_per_key"] = tree.BitsPerKey();
  AddFalsePositives(counts, &row);
  const Prediction prediction = Predict(tree, absent);
  row["predicted"] = OrNull(prediction.absent);
  row["asked"] =
      std::accumulate(prediction.shares.begin(), prediction.shares.end(), 0.0);
  AddRuns(tree, &row);
  if (database.name() != kDefault) return row;
  const StepResult result = WithStep(tree, setting, kUpperStepBits, absent);
  row["of_uniform"] = result.of_uniform;
  // Of trees with tables of both kinds.
  row["estimate"] = nullptr;
  if (result.upper_share > 0 && result.upper_share < 1) {
    const double asked = row["asked"];
    row["estimate"] = (1 + (asked - 1) * std::exp2(-kUpperStepBits)) / asked;
  }
  for (const double step : steps) {
    const StepResult other = WithStep(tree, setting, step, absent);
    row["steps"].push_back({{"step", step},
                            {"bits_per_key", other.bits_per_key},
                            {kFalsePositives, other.false_positives},
                            {"of_uniform", other.of_uniform},
                            {"of_same_bytes", other.of_same_bytes}});
  }
  return row;
}

Json ResultsOfPhases(const Database& database,
                     const std::vector<PhaseResult>& phases) {
  Json rows = Json::array();
  for (const PhaseResult& phase : phases) {
    Json row;
    row["phase"] = phase.name;
    row["filter"] = database.name();
    row["bits_per_key"] = phase.tree.BitsPerKey();
    AddFalsePositives(phase.counts, &row);
    AddRuns(phase.tree, &row);
    rows.push_back(std::move(row));
  }
  return rows;
}

void CompareWithUniform(Json* results) {
  constexpr double kErrors = 4;
  for (Json& row : *results) {
    if (row["filter"] != kDefault) continue;
    for (const Json& other : *results) {
      if (other["filter"] != kUniform || other["phase"] != row["phase"]) {
        continue;
      }
      const double error = std::hypot(Get(row, "error"), Get(other, "error"));
      row["more_than_uniform"] = Get(row, kFalsePositives) >
                                 Get(other, kFalsePositives) + kErrors * error;
    }
  }
}

std::string FormatSetting(const Options& options, const std::string& folder,
                          bool direct_io) {
  const Preset& preset = *options.preset;
  if (IsRanges(preset)) {
    return "RocksDB " + rocksdb::GetRocksVersionAsString() + ", " +
           WithThousands(options.keys) + " keys per schema, " +
           std::to_string(preset.database.value_bytes) + "-byte values,\n" +
           bench::Significant(options.bits_per_key, 10) +
           " bits per key set for ranges, all data blocks cached.\nDatabases "
           "in " +
           folder + ".\n";
  }
  const std::string keys =
      IsLevels(preset) ? "" : WithThousands(options.keys) + " ";
  return "RocksDB " + rocksdb::GetRocksVersionAsString() + ", " + keys +
         "keys of 16 bytes, " + std::to_string(preset.database.value_bytes) +
         "-byte values, " + bench::Significant(options.bits_per_key, 10) +
         " bits per key set.\nDatabases in " + folder +
         (direct_io ? "; direct reads, past the page cache.\n"
                    : "; reads through the page cache.\n") +
         (IsLevels(preset)
              ? "false: per lookup of an absent key; n: runs that it asks; of "
                "uniform: false positives\nrelative to equal bits in the same "
                "tables, by the formulas; estimate: (1 + (n - 1) / 2^2.5) / "
                "n.\n"
              : "");
}

std::string FormatRuns(const Tree& tree) {
  std::vector<std::vector<std::string>> rows = {{"run", "files", "keys", "MB"}};
  for (const Run& run : tree.runs) {
    rows.push_back(
        {"level " + std::to_string(run.level), WithThousands(run.tables.size()),
         WithThousands(run.Sum(&Table::entries)),
         Fixed(static_cast<double>(run.Sum(&Table::bytes)) / 1e6, 1)});
  }
  return bench::TextTable(rows);
}

std::string FormatResult(const Preset& preset, const Json& result) {
  return bench::TableLine(ColumnsOf(preset.name), result,
                          std::string_view(kUniform).size());
}

std::string FormatSummary(const Preset& preset, const Json& results) {
  return (preset.name == "demo" ? FormatSavings(results) : "") +
         FormatMissed(results);
}

std::string FormatLoading(const Json& results) {
  const std::string text = bench::Table(
      results, {{"cache", "block cache"},
                {"filter", "filter"},
                {"bits_per_key", "bits/key", "%.2f"},
                {"absent_bytes_read_per_lookup", "bytes", "%.0f"},
                {"absent_filter_bytes_read_per_lookup", "of filters", "%.0f"},
                {"absent_filters_loaded_per_lookup", "filters", "%.4f"},
                {"absent_block_reads_per_lookup", "blocks", "%.4f"},
                {kAbsentReads, "data blocks", "%.4f"},
                {"missed_present_keys", "missed"}});
  return text + FormatMissed(results);
}

std::string FormatGrowth(const GrownTree& tree, const Json& results) {
  std::string text =
      "\n" + std::string(tree.name) + ": " + tree.description + "\n\n" +
      bench::Table(results,
                   {{"filter", "filter"},
                    {"bits_per_key", "bits/key", "%.2f"},
                    {kFalsePositives, "false, 1e-3", "%.3f", 1000},
                    {"error", "+-", "%.3f", 1000},
                    {"predicted", "predicted", "%.3f", 1000},
                    {"asked", "n", "%.2f"},
                    {"of_uniform", "of uniform", "%.3f"},
                    {"estimate", "estimate", "%.3f"},
                    {"levels", "level of each run"},
                    {"bits_per_key_of_runs", "bits per key of each run"}});
  for (const Json& row : results) {
    if (!row.contains("steps")) continue;
    text += "\n" + bench::Table(row["steps"],
                                {{"step", "step", "%.2f"},
                                 {"bits_per_key", "bits/key", "%.2f"},
                                 {kFalsePositives, "false, 1e-3", "%.3f", 1000},
                                 {"of_uniform", "of uniform", "%.3f"},
                                 {"of_same_bytes", "of same bytes", "%.3f"}});
  }
  return text;
}

std::string FormatPhases(const Json& results) {
  std::string text =
      "\n" +
      bench::Table(results,
                   {{"phase", "phase"},
                    {"filter", "filter"},
                    {"bits_per_key", "bits/key", "%.2f"},
                    {kFalsePositives, "false, 1e-3", "%.3f", 1000},
                    {"error", "+-", "%.3f", 1000},
                    {"levels", "level of each run"},
                    {"bits_per_key_of_runs", "bits per key of each run"}});
  for (const Json& row : results) {
    if (!row.value("more_than_uniform", false)) continue;
    text += "WRONG: " + row["filter"].get<std::string>() +
            " has more false positives than " + kUniform + " in the phase " +
            row["phase"].get<std::string>() + ".\n";
  }
  return text;
}

std::string FormatScans(const Json& results) {
  std::string text = bench::Table(
      results,
      {{"filter", "filter"},
       {"property_bits_per_key", "bits/key", "%.1f"},
       {"forward_none_data_blocks_per_scan", "empty: blocks", "%.4f"},
       {"forward_none_micros_per_scan", "us", "%.1f"},
       {"forward_none_tables_asked_per_scan", "asked", "%.1f"},
       {"backward_none_data_blocks_per_scan", "backward: blocks", "%.4f"},
       {"backward_none_micros_per_scan", "us", "%.1f"},
       {"backward_none_tables_asked_per_scan", "asked", "%.1f"},
       {"forward_one_micros_per_scan", "1 key: us", "%.1f"},
       {"backward_one_micros_per_scan", "backward", "%.1f"},
       {"forward_ten_micros_per_scan", "10 keys: us", "%.1f"},
       {"forward_ten_tables_asked_per_scan", "asked", "%.1f"},
       {"backward_ten_micros_per_scan", "backward", "%.1f"},
       {"backward_ten_tables_asked_per_scan", "asked", "%.1f"},
       {"build_nanos_per_key", "build: ns/key", "%.0f"},
       {"compressed_build_nanos_per_key", "compressed", "%.0f"},
       {"wrong_scans", "wrong"}});
  for (const Json& row : results) {
    if (row["wrong_scans"] == 0) continue;
    text += "WRONG: with " + row["filter"].get<std::string>() + " " +
            WithThousands(row["wrong_scans"]) +
            " scans did not find their keys.\n";
  }
  return text;
}

}  // namespace deltabloom::demo
