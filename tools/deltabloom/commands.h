// The subcommands of deltabloom, a folder each.
#pragma once

#include "tools/program/program.h"

namespace deltabloom::tools {

Command InspectCommand();
Command EstimateCommand();
Command VerifyCommand();
Command DoctorCommand();
Command RefilterCommand();
Command CheckCommand();
Command RunCommand();

}  // namespace deltabloom::tools
