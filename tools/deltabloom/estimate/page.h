// The page with sliders.
#pragma once

#include <string>

#include "tools/deltabloom/estimate/model.h"
#include "tools/program/console.h"

namespace deltabloom::tools {

// Writes the page to the file. `bits_per_key`: where it begins. `of_database`:
// what EstimateDatabase() adds to its data, or nothing.
ExitCode WritePage(const std::string& file, const TreeOptions& tree,
                   double bits_per_key, const Json& of_database,
                   Console* console);

}  // namespace deltabloom::tools
