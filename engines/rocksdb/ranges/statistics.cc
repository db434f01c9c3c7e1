// The texts of RocksDBRangeStatistics.
#include <cstdint>
#include <string>
#include <string_view>

#include "deltabloom/rocksdb_ranges.h"
#include "engines/rocksdb/base/prometheus.h"
#include "util/json.h"
#include "util/version.h"

namespace deltabloom {
namespace {

using internal::JsonWriter;

struct Field {
  uint64_t RocksDBRangeStatistics::*member;
  const char* name;    // in JSON
  const char* metric;  // of Prometheus, after "deltabloom_"
  const char* help;
};

using Statistics = RocksDBRangeStatistics;

constexpr Field kFields[] = {
    {&Statistics::scans, "scans", "range_scans_total",
     "Scans with range filters."},
    {&Statistics::empty_scans, "empty_scans", "range_empty_scans_total",
     "Scans that are known to have found no key."},
    {&Statistics::tables, "tables", "range_tables_total",
     "Tables that scans asked for."},
    {&Statistics::tables_rejected, "tables_rejected",
     "range_tables_rejected_total", "Tables that were skipped."},
    {&Statistics::tables_passed_for_nothing, "tables_passed_for_nothing",
     "range_tables_passed_for_nothing_total",
     "Tables that were let through in scans that found no key."},
    {&Statistics::tables_without_cut, "tables_without_cut",
     "range_tables_without_cut_total",
     "Tables without a prefix that could reject the range."},
    {&Statistics::tables_without_filter, "tables_without_filter",
     "range_tables_without_filter_total",
     "Tables without a range filter that can be used."},
    {&Statistics::refused, "refused", "range_refused_scans_total",
     "Scans that RocksDB allowed only without a table filter."},
    {&Statistics::filters_built, "filters_built", "range_filters_built_total",
     "Tables that were built with a range filter."},
    {&Statistics::tables_built_without, "tables_built_without",
     "range_tables_built_without_total",
     "Tables that were built without a range filter."},
    {&Statistics::bytes_built, "bytes_built", "range_built_bytes_total",
     "Bytes of the range filters that were built."},
};

std::string ShareText(uint64_t part, uint64_t whole) {
  if (whole == 0) return std::to_string(part);
  return std::to_string(part) + " (" +
         internal::NumberText(
             100 * static_cast<double>(part) / static_cast<double>(whole), 1) +
         " %)";
}

}  // namespace

std::string RocksDBRangeStatistics::ToJson() const {
  JsonWriter json;
  json.BeginObject().Key("version").String(internal::kVersion);
  for (const Field& field : kFields) {
    json.Key(field.name).Number(this->*field.member);
  }
  return json.EndObject().text();
}

std::string RocksDBRangeStatistics::ToPrometheus(
    std::string_view family) const {
  const std::string label =
      "{family=" + internal::PrometheusLabel(family) + "} ";
  std::string text;
  for (const Field& field : kFields) {
    const std::string name = std::string("deltabloom_") + field.metric;
    text += "# HELP " + name + " " + field.help + "\n# TYPE " + name +
            " counter\n" + name + label + std::to_string(this->*field.member) +
            "\n";
  }
  return text;
}

std::string RocksDBRangeStatistics::ToText() const {
  std::string text =
      "Scans: " + std::to_string(scans) + ", without a key " +
      ShareText(empty_scans, scans) +
      "\nTables asked: " + std::to_string(tables) + ", skipped " +
      ShareText(tables_rejected, tables) + ", let through for nothing " +
      ShareText(tables_passed_for_nothing, tables) + ", without a cut " +
      ShareText(tables_without_cut, tables) + ", without a filter " +
      ShareText(tables_without_filter, tables) +
      "\nTables built: " + std::to_string(filters_built) + " with a filter, " +
      std::to_string(bytes_built) + " bytes, " +
      std::to_string(tables_built_without) + " without\n";
  if (refused > 0) {
    text += "RocksDB allowed no table filter in " + std::to_string(refused) +
            " scans\n";
  }
  return text;
}

}  // namespace deltabloom
