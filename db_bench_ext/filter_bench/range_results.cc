// Tables and JSON of range filters.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "db_bench_ext/common/results.h"
#include "db_bench_ext/filter_bench/results.h"

namespace deltabloom::bench {
namespace {

bool SameTable(const RangeRow& a, const RangeRow& b) {
  return a.set == b.set && a.keys == b.keys && a.bits_per_key == b.bits_per_key;
}

// Of rows from one filter each: `cell` over the lengths.
std::string TableOf(const std::vector<RangeRow>& rows, const std::string& title,
                    std::string (*cell)(const RangeRow&)) {
  std::vector<std::string> header = {title, "bits/key"};
  for (const RangeRow& row : rows) {
    if (row.filter != rows.front().filter) break;
    header.push_back(WithThousands(row.length));
  }
  TextTable table(header);
  for (size_t i = 0; i < rows.size();) {
    std::vector<std::string> cells = {rows[i].filter,
                                      Fixed(rows[i].stored_bits_per_key, 2)};
    const std::string& filter = rows[i].filter;
    for (; i < rows.size() && rows[i].filter == filter; ++i) {
      cells.push_back(cell(rows[i]));
    }
    table.Add(cells);
  }
  return table.Text();
}

}  // namespace

std::string RangeTables(const std::vector<RangeRow>& rows) {
  std::string text;
  for (auto begin = rows.begin(); begin != rows.end();) {
    const auto end = std::find_if(begin, rows.end(), [&](const RangeRow& row) {
      return !SameTable(*begin, row);
    });
    const std::vector<RangeRow> some(begin, end);
    text += "\n" + begin->set + ": " + WithThousands(begin->keys) + " keys, " +
            Significant(begin->bits_per_key, 4) + " bits per key\n\n";
    text += TableOf(some, "fp %, by length", [](const RangeRow& row) {
      return Percent(row.false_positive_rate);
    });
    if (begin->question_ns > 0) {
      text += "\n" + TableOf(some, "ns per question", [](const RangeRow& row) {
                return Nanoseconds(row.question_ns);
              });
      text += "\nbuild, ns per key: " + begin->filter + " " +
              Nanoseconds(begin->build_ns_per_key) +
              ", a compact filter beside it " +
              Nanoseconds(begin->compact_build_ns_per_key) + "\n";
    }
    begin = end;
  }
  return text;
}

nlohmann::ordered_json RangesToJson(const std::vector<RangeRow>& rows) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const RangeRow& row : rows) {
    nlohmann::ordered_json json;
    json["set"] = row.set;
    json["keys"] = row.keys;
    json["bits_per_key"] = row.bits_per_key;
    json["filter"] = row.filter;
    json["stored_bits_per_key"] = row.stored_bits_per_key;
    json["length"] = row.length;
    json["false_positive_rate"] = row.false_positive_rate;
    json["false_positive_error"] = row.false_positive_error;
    json["samples"] = row.samples;
    json["bound"] = std::isfinite(row.bound) ? nlohmann::ordered_json(row.bound)
                                             : nlohmann::ordered_json(nullptr);
    const auto time = [](double ns) {
      return ns > 0 ? nlohmann::ordered_json(ns)
                    : nlohmann::ordered_json(nullptr);
    };
    json["question_ns"] = time(row.question_ns);
    json["build_ns_per_key"] = time(row.build_ns_per_key);
    json["compact_build_ns_per_key"] = time(row.compact_build_ns_per_key);
    all.push_back(std::move(json));
  }
  return all;
}

}  // namespace deltabloom::bench
