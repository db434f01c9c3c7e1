#include "engines/rocksdb/base/options_file.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace deltabloom::internal {
namespace {

// Cuts the line at a '#' without a backslash before it, as RocksDB does.
std::string_view WithoutComment(std::string_view line) {
  for (size_t at = line.find('#'); at != std::string_view::npos;
       at = line.find('#', at + 1)) {
    if (at == 0 || line[at - 1] != '\\') return line.substr(0, at);
  }
  return line;
}

// A name without the backslashes that RocksDB writes before some characters.
std::string Unescaped(std::string_view text) {
  std::string name;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escaped = text[i] == '\\' && i + 1 < text.size();
    const char c = text[escaped ? ++i : i];
    name += !escaped ? c : c == 'n' ? '\n' : c == 'r' ? '\r' : c;
  }
  return name;
}

// Reads a line into *line, which has the section. Returns what is wrong, or
// null.
const char* Take(std::string_view text, OptionsLine* line) {
  if (text.front() != '[') {
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      return "expected NAME=VALUE or [SECTION], found neither";
    }
    line->name = Trimmed(text.substr(0, equals));
    line->value = Trimmed(text.substr(equals + 1));
    return nullptr;
  }
  if (text.back() != ']') return "expected ] at the end of a section's name";
  const size_t quote = text.find('"');
  const size_t end = text.rfind('"');
  *line = {};
  line->section = Trimmed(text.substr(1, std::min(quote, text.size() - 1) - 1));
  if (quote == std::string_view::npos) return nullptr;
  if (end == quote) return "expected a name in quotes";
  line->family = Unescaped(text.substr(quote + 1, end - quote - 1));
  return nullptr;
}

}  // namespace

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n\v\f";
  const size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
}

std::string ForEachOption(std::string_view text,
                          const std::function<void(const OptionsLine&)>& fn) {
  OptionsLine line;
  for (uint64_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view found = Trimmed(WithoutComment(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (found.empty()) continue;
    const char* const problem = Take(found, &line);
    if (problem != nullptr) {
      return "line " + std::to_string(number) + ": " + problem;
    }
    fn(line);
  }
  return {};
}

}  // namespace deltabloom::internal
