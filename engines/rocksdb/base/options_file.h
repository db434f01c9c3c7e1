// Parses the syntax of RocksDB's OPTIONS files. It does not need RocksDB.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace deltabloom::internal {

// "name=value" in `[section]` or `[section "family"]`. An empty name stands for
// the start of the section.
struct OptionsLine {
  std::string_view section;
  std::string family;  // without RocksDB's escapes
  std::string_view name;
  std::string_view value;
};

// Returns the text without the spaces at either end.
std::string_view Trimmed(std::string_view text);

// Calls fn for each line, comments and blanks removed. Returns what is wrong
// with the first line that is neither of the above, or nothing; lines after it
// are not read. Any bytes are safe.
std::string ForEachOption(std::string_view text,
                          const std::function<void(const OptionsLine&)>& fn);

}  // namespace deltabloom::internal
