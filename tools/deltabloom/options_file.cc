#include "tools/deltabloom/options_file.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <system_error>

#include "engines/rocksdb/policy/options_file.h"
#include "util/json.h"

namespace deltabloom::tools {
namespace {

namespace fs = std::filesystem;

bool StartsWith(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// "deltabloom:10:auto" of "{id=deltabloom:10:auto;statistics=true}" and of
// "deltabloom:10:auto".
std::string_view IdOf(std::string_view policy) {
  if (!policy.empty() && policy.front() == '{') policy.remove_prefix(1);
  constexpr std::string_view kId = "id=";
  if (StartsWith(policy, kId)) policy.remove_prefix(kId.size());
  return policy.substr(0, policy.find_first_of(";} "));
}

void TakeOption(const internal::OptionsLine& line, FamilyOptions* family) {
  if (line.section == "TableOptions/BlockBasedTable") {
    if (line.name == "filter_policy") family->policy = line.value;
  } else if (line.section != "CFOptions") {
    return;
  } else if (line.name == "table_factory") {
    family->table_factory = line.value;
  } else if (line.name == "prefix_extractor") {
    family->prefix_extractor = line.value;
  } else if (line.name == "optimize_filters_for_hits") {
    family->optimize_filters_for_hits =
        line.value == "true" || line.value == "1";
  }
}

}  // namespace

bool FamilyOptions::NamesDeltabloom() const {
  const std::string_view id = IdOf(policy);
  return id == "deltabloom" || StartsWith(id, "deltabloom:");
}

bool FamilyOptions::OwnCompatibility() const {
  return NamesDeltabloom() && Contains(policy, "compatibility=own");
}

bool FamilyOptions::AllocatesByLevels() const {
  return NamesDeltabloom() && (Contains(policy, "allocation=levels") ||
                               Contains(IdOf(policy), ":levels"));
}

std::string FamilyOptions::FilterMemory() const {
  constexpr std::string_view kOption = "filter_memory=";
  const size_t found = NamesDeltabloom() ? policy.find(kOption) : policy.npos;
  if (found == policy.npos) return {};
  const size_t start = found + kOption.size();
  const std::string value =
      policy.substr(start, policy.find_first_of(";:} ", start) - start);
  return value == "unset" || value == "0" ? std::string() : value;
}

std::string ParseOptionsFile(std::string_view text, OptionsFile* file) {
  *file = {};
  std::map<std::string, size_t> index;  // of families, by name
  const std::string problem =
      internal::ForEachOption(text, [&](const internal::OptionsLine& line) {
        if (line.section == "Version" && line.name == "rocksdb_version") {
          file->rocksdb_version = line.value;
        } else if (line.section == "DBOptions" && line.name == "listeners") {
          file->has_listener = Contains(line.value, "deltabloom");
        } else if (line.section == "CFOptions" && line.name.empty() &&
                   index.emplace(line.family, file->families.size()).second) {
          file->families.emplace_back().name = line.family;
        }
        const auto family = index.find(line.family);
        if (family == index.end()) return;
        TakeOption(line, &file->families[family->second]);
      });
  if (!problem.empty()) return problem;
  if (file->families.empty()) return "expected a section CFOptions, found none";
  return {};
}

bool ParseOptionsFileName(std::string_view name, uint64_t* number) {
  constexpr std::string_view kStart = "OPTIONS-";
  return StartsWith(name, kStart) &&
         internal::ParseNumber(name.substr(kStart.size()), number);
}

std::string NewestOptionsFile(const std::string& path) {
  std::string newest;
  uint64_t newest_number = 0;
  for (const auto& entry : fs::directory_iterator(path)) {
    const std::string name = entry.path().filename().string();
    uint64_t number = 0;
    std::error_code unknown;
    if (ParseOptionsFileName(name, &number) && !entry.is_directory(unknown) &&
        !entry.is_fifo(unknown) && (newest.empty() || number > newest_number)) {
      newest = name;
      newest_number = number;
    }
  }
  return newest;
}

bool ReadNewestOptionsFile(const std::string& path, OptionsFile* file) {
  try {
    const std::string name = NewestOptionsFile(path);
    if (name.empty()) return false;
    std::ifstream in(fs::path(path) / name, std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(in), {});
    return ParseOptionsFile(text, file).empty();
  } catch (const std::system_error&) {  // also of reading
    return false;
  }
}

}  // namespace deltabloom::tools
