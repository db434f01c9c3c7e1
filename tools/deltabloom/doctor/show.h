// Shows the reports of doctor, as JSON and as text.
#pragma once

#include "tools/deltabloom/doctor/process.h"
#include "tools/deltabloom/doctor/report.h"
#include "tools/program/console.h"

namespace deltabloom::tools {

void ShowProcess(const ProcessReport& process, Console* console);
void ShowDatabase(const DatabaseReport& database, Console* console);

}  // namespace deltabloom::tools
