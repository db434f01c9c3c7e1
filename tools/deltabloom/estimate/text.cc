#include "tools/deltabloom/estimate/text.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tools/deltabloom/estimate/model.h"
#include "tools/program/console.h"
#include "util/json.h"
#include "util/layouts/layout.h"

namespace deltabloom::tools {

std::string Short(double value) {
  if (value == 0) return "0";
  const int digits =
      std::max(0, 2 - static_cast<int>(std::floor(std::log10(value))));
  return Format(("%." + std::to_string(std::min(digits, 12)) + "f").c_str(),
                value);
}

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

std::string Count(double number) {
  std::string text = Format("%.0f", number);
  for (size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, ",");
  return text;
}

std::string BitsByLevel(const std::vector<TreeLevel>& tree,
                        const FilterEstimate& estimate) {
  std::string text;
  const auto add = [&text](double bits) {
    if (!text.empty()) text += ' ';
    text += bits < 0.05 ? "-" : Format("%.1f", bits);
  };
  const auto differs = [&](const LevelFilters& level) {
    return level.bits_per_key != estimate.levels.front().bits_per_key;
  };
  const bool uniform =
      std::none_of(estimate.levels.begin(), estimate.levels.end(), differs);
  double keys = 0;
  double bits = 0;
  for (size_t i = 0; i < tree.size(); ++i) {
    keys += tree[i].keys;
    bits += tree[i].keys * estimate.levels[i].bits_per_key;
    const bool more =
        i + 1 < tree.size() && tree[i].is_level0 && tree[i + 1].is_level0;
    if (more) continue;
    add(bits / keys);
    keys = bits = 0;
    if (uniform) break;
  }
  return text;
}

void RejectTotal(double bytes, double least) {
  throw std::runtime_error("--filter-memory " + Bytes(bytes) +
                           " is too little: with the least bits_per_key, " +
                           internal::NumberText(internal::kMinBitsPerKey) +
                           ", the filters take " + Bytes(least));
}

std::string PolicyLine(const std::vector<FilterEstimate>& estimates) {
  const FilterEstimate& last = estimates.back();
  if (!(last.bytes > 0)) return "There is no filter in so few bytes";
  return "The last row is filter_policy=" +
         PolicyText(last.policy_pattern, last.bits_per_key);
}

Json ToJson(const std::vector<TreeLevel>& tree) {
  Json json = Json::array();
  for (const TreeLevel& level : tree) {
    json.push_back({{"name", level.name},
                    {"runs", level.runs},
                    {"tables", level.tables},
                    {"keys", level.keys},
                    {"bottommost", level.bottommost}});
  }
  return json;
}

Json ToJson(const FilterEstimate& estimate) {
  Json json = {{"filter", estimate.filter}};
  if (estimate.bits_per_key > 0) {
    json["policy"] =
        TextOrNull(PolicyText(estimate.policy_pattern, estimate.bits_per_key));
    json["bits_per_key"] = estimate.bits_per_key;
  }
  json.update({{"bytes", estimate.bytes},
               {"absent_reads", estimate.absent_reads},
               {"present_reads", estimate.present_reads},
               {"build_bytes", estimate.build_bytes}});
  if (!estimate.remark.empty()) json["remark"] = estimate.remark;
  json["levels"] = Json::array();
  for (const LevelFilters& level : estimate.levels) {
    Json inner = {{"bits_per_key", level.bits_per_key}};
    if (!level.layout.empty()) inner["layout"] = level.layout;
    inner["false_positive_rate"] = level.rate;
    inner["bytes"] = level.bytes;
    json["levels"].push_back(std::move(inner));
  }
  return json;
}

}  // namespace deltabloom::tools
