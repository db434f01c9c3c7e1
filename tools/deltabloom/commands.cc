// The subcommands.
#include "tools/deltabloom/command.h"

namespace deltabloom::tools {

Implementation InspectCommand();
Implementation EstimateCommand();
Implementation SharedCommand();
Implementation VerifyCommand();
Implementation DoctorCommand();

std::vector<Command> Commands() {
#ifdef DELTABLOOM_TOOLS_REDIS
  const auto shared = SharedCommand;
#else
  Implementation (*const shared)() = nullptr;
#endif
  return {
      {"inspect", "List the filters in table files and check them",
       InspectCommand, ""},
      {"estimate", "Compute what filters cost and save in a future database",
       EstimateCommand, ""},
      {"shared", "Fill, query and rebuild filters in Redis", shared,
       "libhiredis-dev and -DDELTABLOOM_REDIS=ON"},
      {"verify", "Look up every key of table files in their filters",
       VerifyCommand, ""},
      {"doctor", "Check whether a database is run with filters", DoctorCommand,
       ""},
  };
}

}  // namespace deltabloom::tools
