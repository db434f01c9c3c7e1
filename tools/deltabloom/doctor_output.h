// The report of deltabloom doctor, as text for people or as JSON for programs.
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_DOCTOR_OUTPUT_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_DOCTOR_OUTPUT_H_

#include <vector>

#include "tools/deltabloom/console.h"
#include "tools/deltabloom/doctor_report.h"

namespace deltabloom::tools {

// `database` may be null.
void ShowReport(const ProcessReport& process, const DatabaseReport* database,
                const std::vector<Finding>& findings, Console* console);

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_DOCTOR_OUTPUT_H_
