// The estimate of a database that is there.
#pragma once

#include <string>

#include "tools/deltabloom/estimate/model.h"
#include "tools/program/console.h"

namespace deltabloom::tools {

// Estimates the database in the directory. A budget without a value means the
// bytes, and the reads, of the filters that are there. Writes the page if it
// has a name.
ExitCode EstimateDatabase(const std::string& path, const Budget& budget,
                          const std::string& page, Console* console);

}  // namespace deltabloom::tools
