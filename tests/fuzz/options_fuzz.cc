// Parses any bytes as an OPTIONS file of RocksDB. It is rejected with one line,
// or has column families of different names, and each that names Deltabloom
// names a policy.
//
// Input: the bytes.
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "tests/fuzz/harness.h"
#include "tools/deltabloom/database/options_file.h"

namespace deltabloom::fuzz {

void FuzzOne(std::string_view text) {
  tools::OptionsFile file;
  const std::string error = tools::ParseOptionsFile(text, &file);
  Check(error.find('\n') == std::string::npos);
  Check(!error.empty() || !file.families.empty());
  std::set<std::string> names;
  for (const auto& family : file.families) {
    Check(names.insert(family.name).second);
    Check(text.find(family.policy) != std::string_view::npos);
    Check(!family.NamesDeltabloom() || family.NamesPolicy());
    Check(!family.OwnCompatibility() || family.NamesDeltabloom());
  }
  uint64_t number = 0;
  if (tools::ParseOptionsFileName(text, &number)) {
    Check(text.substr(0, 8) == "OPTIONS-" && text.size() > 8);
  }
}

}  // namespace deltabloom::fuzz
