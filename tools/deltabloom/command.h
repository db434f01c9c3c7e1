// What a subcommand is. Each is one file here and one line in CMakeLists.txt.
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_COMMAND_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_COMMAND_H_

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "tools/deltabloom/console.h"

namespace deltabloom::tools {

struct Example {
  std::string command;
  std::string does;
};

// Of the environment, which the command heeds.
struct Variable {
  std::string name;
  std::string does;
};

// For --help and the manual page, which add what is the same everywhere. Plain
// ASCII; paragraphs are filled.
struct Manual {
  std::vector<std::string> description;  // paragraphs
  std::vector<Example> examples;
  std::string success;  // what exit status 0 means
  std::string failure;  // and 1
  // And 2, besides a wrong command line; an error of the program itself then
  // ends with 2, not with 1. Mostly nothing.
  std::string undecided;
  std::vector<Variable> environment;
};

// Does the work after the command line was read. Exceptions are reported and
// end the program with kFailure.
using RunFn = std::function<ExitCode(Console*)>;

// A subcommand that is in this build.
struct Implementation {
  Manual manual;
  // Adds the subcommand's own options: --help and --json are there already.
  RunFn (*add_options)(CLI::App* app);
};

struct Command {
  std::string name;
  std::string summary;                 // "List ...", without a full stop
  Implementation (*implementation)();  // null when it is not in this build
  std::string needs;                   // then: what would put it there
};

// All there are, those that were not built included. Defined by CMakeLists.txt.
std::vector<Command> Commands();

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_COMMAND_H_
