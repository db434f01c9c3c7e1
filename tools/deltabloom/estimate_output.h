// How deltabloom estimate shows its figures.
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_ESTIMATE_OUTPUT_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_ESTIMATE_OUTPUT_H_

#include <vector>

#include "tools/deltabloom/console.h"
#include "tools/deltabloom/estimate_filters.h"
#include "tools/deltabloom/estimate_tree.h"

namespace deltabloom::tools {

// As text, or as JSON where the console has that open.
void ShowEstimates(const TreeOptions& options,
                   const std::vector<TreeLevel>& tree,
                   const std::vector<FilterEstimate>& estimates,
                   Console* console);

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_ESTIMATE_OUTPUT_H_
