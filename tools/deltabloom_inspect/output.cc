#include "tools/deltabloom_inspect/output.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace deltabloom::tools {
namespace {

using Json = nlohmann::ordered_json;

const char* ChecksumState(const FileReport& report, const FilterPart& part) {
  if (!part.error.empty()) return "failed";
  return report.has_checksums ? "ok" : "none";
}

std::string ToText(const FilterReport& filter) {
  std::string text = "  " + filter.kind + " filter " + filter.policy + ": ";
  if (filter.index.has_value()) {
    text += std::to_string(filter.parts.size()) + " partitions, index of " +
            std::to_string(filter.index->bytes) + " bytes at offset " +
            std::to_string(filter.index->offset) + ", filters of ";
  }
  text += std::to_string(filter.Bytes()) + " bytes";
  if (filter.bits_per_key.has_value()) {
    char number[32];
    std::snprintf(number, sizeof(number), ", %.2f bits per key",
                  *filter.bits_per_key);
    text += number;
  }
  return text + "\n";
}

Json ToJson(const FileReport& file, const FilterReport& filter) {
  Json json;
  json["kind"] = filter.kind;
  json["policy"] = filter.policy;
  json["bytes"] = filter.Bytes();
  json["bits_per_key"] =
      filter.bits_per_key.has_value() ? Json(*filter.bits_per_key) : Json();
  if (filter.index.has_value()) {
    json["index"] = {{"offset", filter.index->offset},
                     {"bytes", filter.index->bytes}};
  }
  json["parts"] = Json::array();
  for (const FilterPart& part : filter.parts) {
    Json entry = {{"offset", part.offset},
                  {"bytes", part.bytes},
                  {"checksum", ChecksumState(file, part)}};
    if (part.error.empty()) {
      entry["layout"] = part.layout;
    } else {
      entry["error"] = part.error;
    }
    json["parts"].push_back(std::move(entry));
  }
  return json;
}

Json ToJson(const FileReport& report) {
  Json json;
  json["file"] = report.file;
  if (!report.error.empty()) {
    json["error"] = report.error;
    return json;
  }
  json["engine"] = report.engine;
  json["format_version"] = report.format_version;
  json["checksum"] = report.checksum;
  json["keys"] = report.keys.has_value() ? Json(*report.keys) : Json();
  json["filters"] = Json::array();
  for (const FilterReport& filter : report.filters) {
    json["filters"].push_back(ToJson(report, filter));
  }
  return json;
}

}  // namespace

std::string ToText(const FileReport& report) {
  if (!report.error.empty()) return {};
  std::string text =
      report.file + ": " + report.engine + " table, format_version " +
      std::to_string(report.format_version) + ", checksums " + report.checksum;
  if (report.keys.has_value()) {
    text += ", " + std::to_string(*report.keys) + " keys in filters";
  }
  text += report.filters.empty() ? ", no filter\n" : "\n";
  for (const FilterReport& filter : report.filters) {
    text += ToText(filter);
    for (const FilterPart& part : filter.parts) {
      text += "    offset " + std::to_string(part.offset) + ", " +
              std::to_string(part.bytes) + " bytes, checksum " +
              ChecksumState(report, part) +
              (part.layout.empty() ? "" : ": " + part.layout) + "\n";
    }
  }
  return text;
}

std::string ToJson(const std::vector<FileReport>& reports) {
  Json json;
  json["files"] = Json::array();
  for (const FileReport& report : reports) {
    json["files"].push_back(ToJson(report));
  }
  // Paths and names of policies may hold any bytes.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace deltabloom::tools
