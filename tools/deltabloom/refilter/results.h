// The results of refilter, as JSON and as text.
#pragma once

#include <string>
#include <vector>

#include "tools/deltabloom/refilter/policies.h"
#include "tools/deltabloom/refilter/table.h"
#include "tools/program/console.h"

namespace deltabloom::tools {

void ShowTable(const RefilterTable& table, Console* console);

// Shows the sums of the tables. `stopped`: why the run ended before its end;
// empty: it did not. Returns the exit status.
ExitCode ShowTotals(const std::vector<RefilterTable>& tables,
                    const Policies& policies, bool dry_run,
                    const std::string& stopped, Console* console);

}  // namespace deltabloom::tools
