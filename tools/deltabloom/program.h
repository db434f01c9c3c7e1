// The program around its subcommands: command line, help, exit code.
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_PROGRAM_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_PROGRAM_H_

#include <list>
#include <string>
#include <string_view>
#include <vector>

#include "tools/deltabloom/command.h"
#include "tools/deltabloom/console.h"

namespace deltabloom::tools {

inline constexpr char kProgramName[] = "deltabloom";
inline constexpr char kProgramSummary[] =
    "Look into the filters of table files, and keep those that services share";

// The sentence on exit status 2 that is the same for all subcommands.
inline constexpr char kUsageMeaning[] =
    "the command line was wrong, or names a command that is not in this build; "
    "nothing was done";

// All that exit status 2 of a subcommand means.
std::string UsageMeaning(const Manual& manual);

class Program {
 public:
  struct Entry {
    Command command;
    // Only for those in this build:
    Manual manual;
    CLI::App* options = nullptr;
    RunFn run;
    bool json = false;
  };

  explicit Program(const std::vector<Command>& commands);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const std::list<Entry>& entries() const { return entries_; }
  const CLI::App& options() const { return app_; }

  // arguments[0] is how the program was called.
  ExitCode Run(const std::vector<std::string>& arguments,
               const Streams& streams);

 private:
  ExitCode RunCommand(Entry* entry, Console* console);

  CLI::App app_;
  std::list<Entry> entries_;
};

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_PROGRAM_H_
