// What a subcommand is. commands.cc lists them.
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_COMMAND_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_COMMAND_H_

#include <CLI/CLI.hpp>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/deltabloom/console.h"

namespace deltabloom::tools {

// A name (an example command, an environment variable) and what it does.
struct Term {
  std::string name;
  std::string does;
};

// For --help and the manual page, which add what is the same everywhere. Plain
// ASCII; paragraphs are filled.
struct Manual {
  std::vector<std::string> description;  // paragraphs
  std::vector<Term> examples;
  std::string success;  // what exit status 0 means
  std::string failure;  // and 1
  // What exit status 2 means besides a wrong command line. If set, an error of
  // the program itself ends with 2 as well, not with 1.
  std::string undecided;
  std::vector<Term> environment;  // variables that the subcommand reads
};

// Does the work after the command line was read. Exceptions are reported and
// end the program with kFailure.
using RunFn = std::function<ExitCode(Console*)>;

// A subcommand of this build.
struct Implementation {
  Manual manual;
  // Adds the subcommand's own options: --help and --json are there already.
  RunFn (*add_options)(CLI::App* app);
};

struct Command {
  std::string name;
  std::string summary;                 // "List ...", without a full stop
  Implementation (*implementation)();  // null when it is not in this build
  std::string needs;                   // then: what would add it to the build
};

// All subcommands, those included that are not in this build.
std::vector<Command> Commands();

// A number and the name of its unit; nothing if `text` is not that or the
// product is not from `least` to `most`. A unit without a name is optional.
struct Unit {
  const char* name;
  double factor;
};
std::optional<double> ParseAmount(const std::string& text,
                                  const std::vector<Unit>& units, double least,
                                  double most);

// An option whose value is a time of at most 100 years: "90", "90s", "500ms",
// "5m", "12h", "30d"; a number alone is seconds.
CLI::Option* AddDuration(CLI::App* app, const std::string& name,
                         std::chrono::milliseconds* time,
                         const std::string& what);

// Rejects "-1", which CLI11 converts to the largest number.
CLI::Validator NotNegative();

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_COMMAND_H_
