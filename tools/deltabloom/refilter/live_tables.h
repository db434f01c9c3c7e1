// The tables of the database that is refiltered.
#pragma once

#include <string>
#include <vector>

#include "tools/deltabloom/refilter/table.h"

namespace deltabloom::tools {

// Finds those of the MANIFEST in the directories; `reason` is set where one
// cannot be read.
std::vector<RefilterTable> FindTables(
    const std::string& database, const std::vector<std::string>& directories);

}  // namespace deltabloom::tools
