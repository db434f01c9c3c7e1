// The estimate of a future database.
#pragma once

#include <string>

#include "tools/deltabloom/estimate/model.h"
#include "tools/program/console.h"

namespace deltabloom::tools {

// Estimates the tree. A budget without a value means 10 bits per key. Writes
// the page if it has a name; without keys, only that.
ExitCode EstimateFuture(const TreeOptions& options, const Budget& budget,
                        const std::string& page, Console* console);

}  // namespace deltabloom::tools
