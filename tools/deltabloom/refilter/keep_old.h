// The directory of --keep-old, with hard links to the old files.
#pragma once

#include <string>
#include <vector>

#include "tools/deltabloom/refilter/table.h"

namespace deltabloom::tools {

// Makes the directory, and those above it. Throws, before it makes any, unless
// tables of each directory can be linked there.
void MakeKeepOld(const std::string& keep_old,
                 const std::vector<std::string>& directories,
                 const std::vector<RefilterTable>& tables);

}  // namespace deltabloom::tools
