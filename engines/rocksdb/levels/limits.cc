#include "engines/rocksdb/levels/limits.h"

#include <string_view>
#include <utility>

#include "engines/rocksdb/base/options_file.h"
#include "engines/rocksdb/levels/full_tree.h"
#include "util/json.h"

namespace deltabloom::internal {

LimitsByFamily ParseLimits(std::string_view options) {
  LimitsByFamily all;
  ForEachOption(options, [&](const OptionsLine& line) {
    if (line.family.empty()) return;
    TreeLimits& limits = all[line.family];
    if (line.name == "filter_policy") {
      limits.filters = line.value != "nullptr";
    }
    if (line.section != "CFOptions") return;
    const std::pair<const char*, double*> numbers[] = {
        {"level0_file_num_compaction_trigger", &limits.level0_files},
        {"max_bytes_for_level_base", &limits.base},
        {"max_bytes_for_level_multiplier", &limits.ratio}};
    for (const auto& [name, number] : numbers) {
      if (line.name == name && !ParseNumber(line.value, number)) *number = 0;
    }
    if (line.name == "level_compaction_dynamic_level_bytes") {
      limits.dynamic = line.value == "true";
    }
    if ((line.name == "compaction_style" &&
         line.value != "kCompactionStyleLevel") ||
        (line.name == "disable_auto_compactions" && line.value != "false")) {
      limits.kept = false;
    }
  });
  return all;
}

}  // namespace deltabloom::internal
