// RocksDBRangeStatistics and its texts.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "deltabloom/rocksdb_ranges.h"
#include "engines/rocksdb/base/prometheus.h"
#include "engines/rocksdb/ranges/state.h"
#include "util/json.h"
#include "util/version.h"

namespace deltabloom {
namespace {

using Statistics = RocksDBRangeStatistics;

struct Field {
  uint64_t Statistics::*member;
  const char* name;  // in JSON; Prometheus has deltabloom_range_NAME_total
  const char* help;
};

constexpr Field kFields[] = {
    {&Statistics::scans, "scans", "Scans with range filters"},
    {&Statistics::empty_scans, "empty_scans",
     "Scans that are known to have found no key"},
    {&Statistics::tables, "tables", "Tables that scans asked for"},
    {&Statistics::tables_rejected, "tables_rejected",
     "Tables that were skipped"},
    {&Statistics::tables_passed_for_nothing, "tables_passed_for_nothing",
     "Tables that were let through in scans that found no key"},
    {&Statistics::tables_without_place, "tables_without_place",
     "Tables whose scan shares no declared prefix"},
    {&Statistics::tables_without_filter, "tables_without_filter",
     "Tables without a range filter that can be used"},
    {&Statistics::refused, "refused",
     "Scans that RocksDB allowed only without a table filter"},
    {&Statistics::filters_built, "filters_built",
     "Tables that were built with a range filter"},
    {&Statistics::tables_built_without, "tables_built_without",
     "Tables that were built without a range filter"},
    {&Statistics::bytes_built, "bytes_built",
     "Bytes of the range filters that were built"},
};

}  // namespace

void internal::RangesState::Count(RocksDBRangeStatistics* counts) {
  static_assert(sizeof(counters) == std::size(kFields) * sizeof(counters[0]));
  for (size_t i = 0; i < counters.size(); ++i) {
    uint64_t& count = counts->*kFields[i].member;
    if (count != 0) counters[i].fetch_add(count, std::memory_order_relaxed);
    count = 0;
  }
}

Statistics internal::RangesState::Statistics() const {
  RocksDBRangeStatistics statistics;
  for (size_t i = 0; i < counters.size(); ++i) {
    statistics.*kFields[i].member = counters[i].load(std::memory_order_relaxed);
  }
  statistics.suggestion = suggestion.Text(options.places);
  return statistics;
}

std::string RocksDBRangeStatistics::ToJson() const {
  internal::JsonWriter json;
  json.BeginObject().Key("version").String(internal::kVersion);
  for (const Field& field : kFields) {
    json.Key(field.name).Number(this->*field.member);
  }
  json.Key("suggestion").String(suggestion);
  return json.EndObject().text();
}

std::string RocksDBRangeStatistics::ToPrometheus(
    std::string_view family) const {
  const std::string label =
      "{family=" + internal::PrometheusLabel(family) + "} ";
  std::string text;
  for (const Field& field : kFields) {
    const std::string name =
        std::string("deltabloom_range_") + field.name + "_total";
    text += "# HELP " + name + " " + field.help + ".\n# TYPE " + name +
            " counter\n" + name + label + std::to_string(this->*field.member) +
            "\n";
  }
  return text;
}

std::string RocksDBRangeStatistics::ToText() const {
  std::string text;
  for (const Field& field : kFields) {
    text += std::string(field.help) + ": " +
            std::to_string(this->*field.member) + "\n";
  }
  if (!suggestion.empty()) text += "To declare: " + suggestion + "\n";
  return text;
}

}  // namespace deltabloom
