// The manual pages and the completion of Bash, made from what the program
// itself knows of its commands, so that they cannot tell otherwise.
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_DOCUMENTS_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_DOCUMENTS_H_

#include <string>

#include "tools/deltabloom/program.h"

namespace deltabloom::tools {

// deltabloom(1): the commands, and what is the same for all of them.
std::string ManPage(const Program& program);

// deltabloom-COMMAND(1). REQUIRES: the command is in this build.
std::string ManPage(const Program::Entry& entry);

// A script for Bash: commands, their options, files.
std::string BashCompletion(const Program& program);

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_DOCUMENTS_H_
