// The program that holds the subcommands: command line, help, exit status, and
// the documents that are generated from them.
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_PROGRAM_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_PROGRAM_H_

#include <list>
#include <string>
#include <vector>

#include "tools/deltabloom/command.h"
#include "tools/deltabloom/console.h"

namespace deltabloom::tools {

inline constexpr char kProgramName[] = "deltabloom";
inline constexpr char kProgramSummary[] =
    "Inspect the filters of table files, and manage filters in Redis";

// What exit status 2 means: of all subcommands, and of one.
inline constexpr char kUsageMeaning[] =
    "the command line was wrong, or names a command that is not in this build; "
    "nothing was done";
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

  // arguments[0] is the name of the program.
  ExitCode Run(const std::vector<std::string>& arguments,
               const Streams& streams);

 private:
  ExitCode RunCommand(Entry* entry, Console* console);

  CLI::App app_;
  std::list<Entry> entries_;
};

// deltabloom(1): the commands, and what is the same for all of them.
std::string ManPage(const Program& program);

// deltabloom-COMMAND(1). REQUIRES: the command is in this build.
std::string ManPage(const Program::Entry& entry);

// A script for Bash that completes commands, their options and files.
std::string BashCompletion(const Program& program);

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_PROGRAM_H_
