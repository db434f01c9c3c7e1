// Reports as text for people and as JSON for programs.
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_INSPECT_OUTPUT_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_INSPECT_OUTPUT_H_

#include <string>
#include <vector>

#include "tools/deltabloom_inspect/report.h"

namespace deltabloom::tools {

// The file's line and those of its filters; errors go elsewhere.
std::string ToText(const FileReport& report);

// One document for all files.
std::string ToJson(const std::vector<FileReport>& reports);

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_INSPECT_OUTPUT_H_
