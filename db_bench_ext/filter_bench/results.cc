#include "db_bench_ext/filter_bench/results.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "db_bench_ext/common/results.h"
#include "db_bench_ext/filter_bench/lookups.h"
#include "db_bench_ext/filter_bench/machine.h"

namespace deltabloom::bench {
namespace {

using Json = nlohmann::ordered_json;

std::optional<double> Find(const Times& times, const std::string& name) {
  const auto found = times.find(name);
  if (found == times.end()) return std::nullopt;
  return found->second;
}

std::string TitleOf(const Row& row) {
  std::ostringstream title;
  title << WithThousands(row.setting.keys) << " keys of "
        << row.setting.key_bytes << " bytes, " << row.setting.bits_per_key
        << " bits per key, " << row.threads
        << (row.threads == 1 ? " thread" : " threads");
  return title.str();
}

// Columns of times that some row has.
std::vector<std::pair<std::string, std::string>> TimeColumns(
    const std::vector<Row>& rows) {
  std::vector<std::pair<std::string, std::string>> columns = {
      {kBuildTime, "build"}};
  for (const LookupKind& kind : AllLookupKinds()) {
    columns.emplace_back(kind.name, kind.title);
  }
  std::vector<std::pair<std::string, std::string>> present;
  for (const auto& column : columns) {
    for (const Row& row : rows) {
      if (row.Time(column.first)) {
        present.push_back(column);
        break;
      }
    }
  }
  return present;
}

std::string CountTable(const std::vector<Row>& rows) {
  TextTable table(
      {"", "bits/key", "fp %", "+/-", "theory %", "b/inf", "build B/key"});
  for (const Row& row : rows) {
    if (row.is_floor) continue;
    table.Add({row.competitor, Fixed(row.stored_bits_per_key, 2),
               Percent(row.false_positive_rate),
               Percent(row.false_positive_error), Percent(row.theoretical_rate),
               Fixed(row.BitsPerInformationBit(), 3),
               Fixed(row.build_bytes_per_key, 1)});
  }
  return table.Text();
}

// Empty without times; ratios if there is a baseline.
std::string TimeTable(const std::vector<Row>& rows, const Row* baseline) {
  const auto columns = TimeColumns(rows);
  if (columns.empty()) return {};
  std::vector<std::string> header = {
      baseline == nullptr ? "ns per key" : "ratio to " + baseline->competitor};
  for (const auto& column : columns) header.push_back(column.second);
  TextTable table(header);
  for (const Row& row : rows) {
    if (baseline != nullptr && row.is_floor) continue;
    std::vector<std::string> cells = {row.competitor};
    for (const auto& column : columns) {
      std::optional<double> time = row.Time(column.first);
      if (baseline == nullptr) {
        cells.push_back(Nanoseconds(time));
        continue;
      }
      const std::optional<double> base = baseline->Time(column.first);
      if (time && base) *time /= *base;
      cells.push_back(base ? Fixed(time, 2) : "-");
    }
    table.Add(cells);
  }
  return "\n" + table.Text();
}

Json Number(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  return *value;
}

Json ToJson(const Row& row) {
  Json json;
  const bool counted = !row.is_floor;
  const auto if_counted = [counted](double value) {
    return counted ? Json(value) : Json(nullptr);
  };
  json["competitor"] = row.competitor;
  json["keys"] = row.setting.keys;
  json["key_bytes"] = row.setting.key_bytes;
  json["bits_per_key"] = row.setting.bits_per_key;
  json["stored_bits_per_key"] = if_counted(row.stored_bits_per_key);
  json["false_positive_rate"] = if_counted(row.false_positive_rate);
  for (const char* name :
       {"miss_ns", "hit_ns", "batch_miss_ns", "batch_hit_ns"}) {
    json[name] = Number(row.Time(name));
  }
  json[kBuildTime] = Number(row.Time(kBuildTime));
  json["build_bytes_per_key"] = if_counted(row.build_bytes_per_key);
  json["threads"] = row.threads;
  json["false_positive_error"] = if_counted(row.false_positive_error);
  json["false_positive_samples"] = row.false_positive_samples;
  json["theoretical_false_positive_rate"] = Number(row.theoretical_rate);
  json["bits_per_information_bit"] = Number(row.BitsPerInformationBit());
  json["false_negatives"] = row.false_negatives;
  for (const LookupKind& kind : AllLookupKinds()) {
    if (!json.contains(kind.name))
      json[kind.name] = Number(row.Time(kind.name));
  }
  return json;
}

Json ToJson(const DatabaseRow& row) {
  Json json;
  json["competitor"] = row.competitor;
  json["filter"] = row.partitioned ? "partitioned" : "full";
  json["keys"] = row.setting.keys;
  json["key_bytes"] = row.setting.key_bytes;
  json["bits_per_key"] = row.setting.bits_per_key;
  json["stored_bits_per_key"] = row.stored_bits_per_key;
  json["batched_share"] = row.batched_share;
  json["keys_per_batch"] = row.keys_per_batch;
  json["neighbours_per_batch"] = row.neighbours_per_batch;
  for (const char* figure : AllDatabaseFigures()) {
    json[figure] = Number(Find(row.times, figure));
  }
  return json;
}

Json ToJson(const ArrangementRow& row) {
  Json json;
  json["arrangement"] = row.arrangement;
  json["keys"] = row.setting.keys;
  json["key_bytes"] = row.setting.key_bytes;
  json["bits_per_key"] = row.setting.bits_per_key;
  json["stored_bits_per_key"] = row.stored_bits_per_key;
  json["lookup_bytes"] = row.lookup_bytes;
  json["false_positive_rate"] = row.false_positive_rate;
  json["false_positive_error"] = row.false_positive_error;
  for (const char* figure : {kMissTime, kHitTime, kBuildTime}) {
    json[figure] = Number(Find(row.times, figure));
  }
  return json;
}

template <typename Row>
Json ToJsonArray(const std::vector<Row>& rows) {
  Json json = Json::array();
  for (const Row& row : rows) json.push_back(ToJson(row));
  return json;
}

}  // namespace

std::vector<Setting> SettingsOf(const Options& options) {
  std::vector<Setting> settings;
  for (uint64_t key_bytes : options.key_bytes) {
    for (double bits_per_key : options.bits_per_key) {
      for (uint64_t keys : options.keys) {
        settings.push_back({keys, key_bytes, bits_per_key});
      }
    }
  }
  return settings;
}

const std::vector<const char*>& AllDatabaseFigures() {
  static const std::vector<const char*> figures = {
      "get_miss_ns", "get_hit_ns", "multiget_miss_ns", "multiget_hit_ns",
      "multiget_neighbours_miss_ns"};
  return figures;
}

std::optional<double> Row::Time(const std::string& name) const {
  return Find(times, name);
}

std::optional<double> Row::BitsPerInformationBit() const {
  if (is_floor || false_positive_rate <= 0 || false_positive_rate >= 1) {
    return std::nullopt;
  }
  return stored_bits_per_key / -std::log2(false_positive_rate);
}

std::string Tables(const std::vector<Row>& rows, const std::string& baseline) {
  if (rows.empty()) return {};
  std::string text = "\n" + TitleOf(rows.front()) + "\n\n" + CountTable(rows) +
                     TimeTable(rows, nullptr);
  for (const Row& row : rows) {
    if (row.competitor == baseline) text += TimeTable(rows, &row);
  }
  return text;
}

std::string DatabaseTables(const std::vector<DatabaseRow>& rows) {
  std::vector<std::string> header = {"ns per key", "filter",    "keys",
                                     "bits/key",   "batched %", "keys/batch",
                                     "near/batch"};
  for (const char* figure : AllDatabaseFigures()) header.push_back(figure);
  TextTable table(header);
  for (const DatabaseRow& row : rows) {
    std::vector<std::string> cells = {row.competitor,
                                      row.partitioned ? "partitioned" : "full",
                                      WithThousands(row.setting.keys),
                                      Fixed(row.stored_bits_per_key, 2),
                                      Fixed(row.batched_share * 100, 1),
                                      Fixed(row.keys_per_batch, 1),
                                      Fixed(row.neighbours_per_batch, 1)};
    for (const char* figure : AllDatabaseFigures()) {
      cells.push_back(Fixed(Find(row.times, figure), 0));
    }
    table.Add(cells);
  }
  return "\n" + table.Text();
}

std::string ArrangementTables(const std::vector<ArrangementRow>& rows) {
  TextTable table({"ns per key", "keys", "bits/key", "needed B", "fp %", "+/-",
                   "absent", "present", "build"});
  for (const ArrangementRow& row : rows) {
    table.Add({row.arrangement, WithThousands(row.setting.keys),
               Fixed(row.stored_bits_per_key, 2), Fixed(row.lookup_bytes, 0),
               Percent(row.false_positive_rate),
               Percent(row.false_positive_error),
               Nanoseconds(Find(row.times, kMissTime)),
               Nanoseconds(Find(row.times, kHitTime)),
               Nanoseconds(Find(row.times, kBuildTime))});
  }
  return "\n" + table.Text();
}

void WriteJson(const Results& results, const Options& options,
               std::ostream* out) {
  Json json;
  json["rows"] = Json::array();
  json["floors"] = Json::array();
  for (const Row& row : results.rows) {
    json[row.is_floor ? "floors" : "rows"].push_back(ToJson(row));
  }
  json["database"] = ToJsonArray(results.database);
  json["arrangements"] = ToJsonArray(results.arrangements);
  json["ranges"] = RangesToJson(results.ranges);
  Json& context = json["context"];
  for (const auto& [name, value] : DescribeMachine()) context[name] = value;
  context["command"] = options.command_line;
  context["repetitions"] = options.repetitions;
  context["batch"] = options.batch;
  context["seed"] = options.seed;
  *out << json.dump(1) << '\n';
}

void WriteCsv(const std::vector<Row>& rows, std::ostream* out) {
  bool first = true;
  for (const Row& row : rows) {
    if (row.is_floor) continue;
    const Json json = ToJson(row);
    std::string header;
    std::string line;
    for (const auto& [name, value] : json.items()) {
      const char* comma = line.empty() ? "" : ",";
      header += comma + name;
      line += comma + (value.is_null()     ? std::string()
                       : value.is_string() ? value.get<std::string>()
                                           : value.dump());
    }
    if (first) *out << header << '\n';
    first = false;
    *out << line << '\n';
  }
}

}  // namespace deltabloom::bench
