#include "db_bench_ext/filter_bench/results.h"

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "db_bench_ext/filter_bench/lookups.h"
#include "db_bench_ext/filter_bench/machine.h"
#include "db_bench_ext/filter_bench/parse.h"
#include "db_bench_ext/write_file.h"

namespace deltabloom::bench {
namespace {

using Json = nlohmann::ordered_json;

std::string Fixed(std::optional<double> value, int digits) {
  if (!value) return "-";
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", digits, *value);
  return text;
}

// Three digits that matter.
std::string Significant(std::optional<double> value) {
  if (!value) return "-";
  const double size = std::fabs(*value);
  return Fixed(value, size < 1 ? 2 : size < 100 ? 1 : 0);
}

// A rate in percent: 0.838, 0.0098, 1.2e-05.
std::string Percent(std::optional<double> rate) {
  if (!rate) return "-";
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g", *rate * 100);
  return text;
}

class Table {
 public:
  explicit Table(std::vector<std::string> header) { Add(std::move(header)); }

  void Add(std::vector<std::string> cells) {
    rows_.push_back(std::move(cells));
  }

  void Print(std::ostream* out) const {
    std::vector<size_t> widths(rows_[0].size(), 0);
    for (const auto& row : rows_) {
      for (size_t i = 0; i < row.size(); ++i) {
        widths[i] = std::max(widths[i], row[i].size());
      }
    }
    for (const auto& row : rows_) {
      for (size_t i = 0; i < row.size(); ++i) {
        const std::string space(widths[i] - row[i].size(), ' ');
        *out << (i == 0 ? row[i] + space : "  " + space + row[i]);
      }
      *out << '\n';
    }
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

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

void PrintCounts(const std::vector<Row>& rows, std::ostream* out) {
  Table table(
      {"", "bits/key", "fp %", "+/-", "theory %", "b/inf", "build B/key"});
  for (const Row& row : rows) {
    if (row.is_floor) continue;
    table.Add({row.competitor, Fixed(row.stored_bits_per_key, 2),
               Percent(row.false_positive_rate),
               Percent(row.false_positive_error), Percent(row.theoretical_rate),
               Fixed(row.BitsPerInformationBit(), 3),
               Fixed(row.build_bytes_per_key, 1)});
  }
  table.Print(out);
}

void PrintTimes(const std::vector<Row>& rows, const Row* baseline,
                std::ostream* out) {
  const auto columns = TimeColumns(rows);
  if (columns.empty()) return;
  std::vector<std::string> header = {
      baseline == nullptr ? "ns per key" : "ratio to " + baseline->competitor};
  for (const auto& column : columns) header.push_back(column.second);
  Table table(header);
  for (const Row& row : rows) {
    if (baseline != nullptr && row.is_floor) continue;
    std::vector<std::string> cells = {row.competitor};
    for (const auto& column : columns) {
      std::optional<double> time = row.Time(column.first);
      if (baseline == nullptr) {
        cells.push_back(Significant(time));
        continue;
      }
      const std::optional<double> base = baseline->Time(column.first);
      if (time && base) *time /= *base;
      cells.push_back(base ? Fixed(time, 2) : "-");
    }
    table.Add(cells);
  }
  *out << '\n';
  table.Print(out);
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
    const auto time = row.times.find(figure);
    json[figure] = time == row.times.end() ? Json(nullptr) : Json(time->second);
  }
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
  const auto found = times.find(name);
  if (found == times.end()) return std::nullopt;
  return found->second;
}

std::optional<double> Row::BitsPerInformationBit() const {
  if (is_floor || false_positive_rate <= 0 || false_positive_rate >= 1) {
    return std::nullopt;
  }
  return stored_bits_per_key / -std::log2(false_positive_rate);
}

void PrintTables(const std::vector<Row>& rows, const std::string& baseline,
                 std::ostream* out) {
  if (rows.empty()) return;
  *out << '\n' << TitleOf(rows.front()) << "\n\n";
  PrintCounts(rows, out);
  PrintTimes(rows, nullptr, out);
  for (const Row& row : rows) {
    if (row.competitor == baseline) PrintTimes(rows, &row, out);
  }
  out->flush();
}

void PrintDatabaseTables(const std::vector<DatabaseRow>& rows,
                         std::ostream* out) {
  std::vector<std::string> header = {"ns per key", "filter",    "keys",
                                     "bits/key",   "batched %", "keys/batch",
                                     "near/batch"};
  for (const char* figure : AllDatabaseFigures()) header.push_back(figure);
  Table table(header);
  for (const DatabaseRow& row : rows) {
    std::vector<std::string> cells = {row.competitor,
                                      row.partitioned ? "partitioned" : "full",
                                      WithThousands(row.setting.keys),
                                      Fixed(row.stored_bits_per_key, 2),
                                      Fixed(row.batched_share * 100, 1),
                                      Fixed(row.keys_per_batch, 1),
                                      Fixed(row.neighbours_per_batch, 1)};
    for (const char* figure : AllDatabaseFigures()) {
      const auto time = row.times.find(figure);
      cells.push_back(time == row.times.end() ? "-" : Fixed(time->second, 0));
    }
    table.Add(cells);
  }
  *out << '\n';
  table.Print(out);
  out->flush();
}

void WriteJson(const Results& results, const Options& options,
               std::ostream* out) {
  Json json;
  json["rows"] = Json::array();
  json["floors"] = Json::array();
  for (const Row& row : results.rows) {
    json[row.is_floor ? "floors" : "rows"].push_back(ToJson(row));
  }
  json["database"] = Json::array();
  for (const DatabaseRow& row : results.database) {
    json["database"].push_back(ToJson(row));
  }
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

bool WriteTo(const std::string& target,
             const std::function<void(std::ostream*)>& write) {
  if (target == "-") {
    write(&std::cout);
    std::cout.flush();
    return static_cast<bool>(std::cout);
  }
  if (WriteFile(target, write)) return true;
  std::fprintf(stderr, "filter_bench: cannot write %s: %s\n", target.c_str(),
               std::strerror(errno));
  return false;
}

}  // namespace deltabloom::bench
