#include "tools/deltabloom/refilter/live_tables.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tools/deltabloom/database/manifest.h"
#include "tools/deltabloom/refilter/table.h"
#include "tools/deltabloom/tables/read_table.h"
#include "tools/deltabloom/tables/table_files.h"

namespace deltabloom::tools {

std::vector<RefilterTable> FindTables(
    const std::string& database, const std::vector<std::string>& directories) {
  std::vector<RefilterTable> tables;
  Manifest manifest;
  Check(ReadManifest(database, &manifest));
  std::map<uint32_t, uint32_t> last_levels;
  for (const auto& [number, live] : manifest.tables()) {
    uint32_t& last = last_levels[live.family];
    last = std::max(last, live.level);
  }
  for (const auto& [number, live] : manifest.tables()) {
    RefilterTable table;
    table.family = manifest.FamilyName(live.family);
    table.level = static_cast<int>(std::min(live.level, 1000u));
    table.bottommost = live.level > 0 && live.level == last_levels[live.family];
    table.size = live.size;
    table.has_checksum = live.has_checksum;
    table.first_key = live.first_key;
    table.last_key = live.last_key;
    const std::vector<std::string> found = FindTable(directories, number);
    table.path =
        found.empty() ? NumberedPath(database, number, "sst") : found[0];
    if (found.empty()) {
      table.reason = "it is not there: name its directory by --path";
    } else if (found.size() > 1) {
      table.reason = "there is another file of this name, " + found[1];
    }
    if (!table.reason.empty()) table.outcome = Outcome::kFailed;
    tables.push_back(std::move(table));
  }
  return tables;
}

}  // namespace deltabloom::tools
