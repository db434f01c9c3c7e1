// A program that holds commands: command line, help, exit status, and the
// documents that are generated from them.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "tools/program/console.h"

namespace deltabloom::tools {

// A name (an example command, an environment variable) and what it does.
struct Term {
  std::string name;
  std::string does;
};

// For --help and the manual page, which add what is the same everywhere. Plain
// ASCII.
struct Manual {
  std::string description;  // paragraphs, with an empty line between them
  std::vector<Term> examples;
  std::string success;  // what exit status 0 means
  std::string failure;  // and 1
  // The meaning of exit status 2 besides a wrong command line. If it is set, an
  // error of the program itself ends with 2 as well, not with 1.
  std::string undecided;
  std::vector<Term> environment;  // variables that the subcommand reads
};

// Does the work after the command line was read. Exceptions are reported and
// end the program with kFailure.
using RunFn = std::function<ExitCode(Console*)>;

struct Command {
  std::string name;
  std::string summary;  // "List ...", without a full stop
  // Adds the subcommand's own options: --help and --json are there already.
  // Null when the command is not in this build.
  RunFn (*add_options)(CLI::App* app) = nullptr;
  std::string needs = {};  // what would add it to the build
  Manual manual = {};
};

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

// Describes the program as a whole.
struct About {
  std::string name;         // "deltabloom"
  std::string summary;      // "Inspect ...", without a full stop
  std::string description;  // for its manual page, as Manual::description
};

class Program {
 public:
  struct Entry {
    Command command;
    CLI::App* options = nullptr;  // null when it is not in this build
    RunFn run;
    bool json = false;
  };

  Program(const About& about, const std::vector<Command>& commands);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const About& about() const { return about_; }
  const std::list<Entry>& entries() const { return entries_; }
  const CLI::App& options() const { return app_; }

  // arguments[0] is the name of the program.
  ExitCode Run(const std::vector<std::string>& arguments,
               const Streams& streams);

 private:
  ExitCode RunCommand(Entry* entry, Console* console);

  const About about_;
  CLI::App app_;
  std::list<Entry> entries_;
};

// The main function of the program: runs the command that the arguments name.
// Called with "--write-documents DIRECTORY" it writes the manual pages and the
// completion instead, as a part of the build.
int Main(const About& about, const std::vector<Command>& commands, int argc,
         char** argv);

std::vector<std::string> Paragraphs(const std::string& text);

// Returns the meaning of exit status 2.
std::string UsageMeaning(const Manual& manual);

// NAME(1): the commands, and what is the same for all of them.
std::string ManPage(const Program& program);
// NAME-COMMAND(1). REQUIRES: the command is in this build.
std::string ManPage(const Program& program, const Program::Entry& entry);
// A script for Bash that completes commands, their options and files.
std::string BashCompletion(const Program& program);

}  // namespace deltabloom::tools
