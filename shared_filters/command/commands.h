// The commands of deltabloom-shared.
#pragma once

#include "tools/program/program.h"

namespace deltabloom::tools {

Command CreateCommand();
Command AddCommand();
Command CheckCommand();
Command RebuildCommand();
Command InfoCommand();
Command ConfirmCommand();
Command MoveCommand();
Command ExportCommand();
Command ImportCommand();
Command DeleteCommand();

}  // namespace deltabloom::tools
