#include "tools/deltabloom/options_file.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>

namespace deltabloom::tools {
namespace {

constexpr std::string_view kBlockBasedTable = "BlockBasedTable";

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n\v\f";
  const size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
}

// Up to a '#' that no backslash is in front of, as RocksDB reads it.
std::string_view WithoutComment(std::string_view line) {
  for (size_t at = line.find('#'); at != std::string_view::npos;
       at = line.find('#', at + 1)) {
    if (at == 0 || line[at - 1] != '\\') return line.substr(0, at);
  }
  return line;
}

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
  return Trimmed(policy.substr(0, policy.find_first_of(";}")));
}

class Parser {
 public:
  explicit Parser(OptionsFile* file) : file_(file) {}

  // Returns what is wrong.
  std::string Line(std::string_view line) {
    if (line.front() == '[') return Section(line);
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) {
      return "expected NAME=VALUE or [SECTION], found neither";
    }
    Option(Trimmed(line.substr(0, equals)), Trimmed(line.substr(equals + 1)));
    return {};
  }

 private:
  // [Name] or [Name "column family"].
  std::string Section(std::string_view line) {
    if (line.back() != ']') return "expected ] at the end of a section's name";
    const size_t quote = line.find('"');
    section_ = Trimmed(line.substr(1, std::min(quote, line.size() - 1) - 1));
    family_ = nullptr;
    if (quote == std::string_view::npos) return {};
    const size_t end = line.rfind('"');
    if (end == quote) return "expected a name in quotes";
    const std::string_view name = line.substr(quote + 1, end - quote - 1);
    const auto found = index_.find(name);
    if (found != index_.end()) {
      family_ = &file_->families[found->second];
    } else if (section_ == "CFOptions") {
      index_.emplace(name, file_->families.size());
      family_ = &file_->families.emplace_back();
      family_->name = name;
    }
    return {};
  }

  void Option(std::string_view name, std::string_view value) {
    if (section_ == "Version" && name == "rocksdb_version") {
      file_->rocksdb_version = value;
    } else if (section_ == "DBOptions" && name == "listeners") {
      file_->has_listener = Contains(value, "deltabloom");
    } else if (family_ == nullptr) {
      return;
    } else if (section_ == "CFOptions" && name == "table_factory") {
      family_->table_factory = value;
    } else if (section_ == "CFOptions" && name == "optimize_filters_for_hits") {
      family_->optimize_filters_for_hits = value == "true" || value == "1";
    } else if (section_ == "TableOptions/BlockBasedTable" &&
               name == "filter_policy") {
      family_->policy = value;
    }
  }

  OptionsFile* const file_;
  std::map<std::string, size_t, std::less<>> index_;  // of families, by name
  std::string section_;
  FamilyOptions* family_ = nullptr;  // of the section; the list may grow then
};

}  // namespace

bool FamilyOptions::BlockBased() const {
  return table_factory.empty() || table_factory == kBlockBasedTable;
}

bool FamilyOptions::NamesPolicy() const {
  return !policy.empty() && policy != "nullptr" && policy != "{}";
}

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

std::string ParseOptionsFile(std::string_view text, OptionsFile* file) {
  *file = {};
  Parser parser(file);
  for (uint64_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = Trimmed(WithoutComment(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    const std::string problem = parser.Line(line);
    if (!problem.empty()) {
      return "line " + std::to_string(number) + ": " + problem;
    }
  }
  if (file->families.empty()) return "expected a section CFOptions, found none";
  return {};
}

bool ParseOptionsFileName(std::string_view name, uint64_t* number) {
  constexpr std::string_view kStart = "OPTIONS-";
  if (!StartsWith(name, kStart)) return false;
  const char* const end = name.data() + name.size();
  const auto [next, status] =
      std::from_chars(name.data() + kStart.size(), end, *number);
  return status == std::errc() && next == end;
}

}  // namespace deltabloom::tools
