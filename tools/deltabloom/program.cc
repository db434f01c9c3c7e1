#include "tools/deltabloom/program.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <new>

#include "tools/deltabloom/help.h"

namespace deltabloom::tools {
namespace {

// What deltabloom_inspect was called before it became a subcommand.
constexpr char kOldInspect[] = "deltabloom_inspect";

std::string BaseName(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

void UsageError(const std::string& who, const std::string& what,
                Console* console) {
  console->Error(who + ": " + what + "; see " + who + " --help");
}

// CLI11's messages begin with a capital and may end with a full stop.
std::string InOneLine(std::string message) {
  while (!message.empty() &&
         (message.back() == '.' || message.back() == '\n')) {
    message.pop_back();
  }
  return message;
}

// The end of all output.
ExitCode End(const std::string& who, ExitCode code, ExitCode on_error,
             Console* console) {
  if (console->Finish()) return code;
  console->Error(who + ": standard output: cannot be written");
  return on_error;
}

}  // namespace

std::string UsageMeaning(const Manual& manual) {
  if (manual.undecided.empty()) return kUsageMeaning;
  return kUsageMeaning + std::string("; or ") + manual.undecided;
}

Program::Program(const std::vector<Command>& commands)
    : app_(kProgramSummary, kProgramName) {
  app_.set_version_flag("--version",
                        std::string(kProgramName) + " " + DELTABLOOM_VERSION,
                        "Print the version and exit");
  app_.set_help_flag("-h,--help", "Print this help and exit");
  app_.footer("'deltabloom COMMAND --help' tells more of each.");
  app_.require_subcommand(1);
  for (const Command& command : commands) {
    Entry& entry = entries_.emplace_back();
    entry.command = command;
    CLI::App* options = app_.add_subcommand(command.name, command.summary);
    if (command.implementation == nullptr) {
      options->group("Commands that are not in this build");
      continue;
    }
    const Implementation implementation = command.implementation();
    entry.manual = implementation.manual;
    entry.options = options;
    options->group("Commands");
    options->set_help_flag("-h,--help", "Print this help and exit");
    options->add_flag("--json", entry.json,
                      "Print one JSON document instead of text");
    entry.run = implementation.add_options(options);
    for (CLI::App* action : options->get_subcommands({})) {
      action->set_help_flag("-h,--help", "Print this help and exit");
      action->add_flag("--json", entry.json,
                       "Print one JSON document instead of text");
    }
    options->formatter(std::make_shared<HelpFormatter>(entry.manual));
  }
}

ExitCode Program::Run(const std::vector<std::string>& arguments,
                      const Streams& streams) {
  Console console(streams);
  std::vector<std::string> words(arguments.begin() + 1, arguments.end());
  if (BaseName(arguments.front()) == kOldInspect) {
    console.Error(std::string(kOldInspect) +
                  ": deprecated, and not in the next release any more: use "
                  "deltabloom inspect");
    words.insert(words.begin(), "inspect");
  }
  const std::string name = words.empty() ? std::string() : words.front();
  const auto entry =
      std::find_if(entries_.begin(), entries_.end(),
                   [&name](const Entry& e) { return e.command.name == name; });
  if (entry == entries_.end() && name.substr(0, 1) != "-") {
    UsageError(kProgramName,
               name.empty() ? "expected a command, found none"
                            : "expected a command, found " + name,
               &console);
    return kUsage;
  }
  if (entry != entries_.end() && entry->options == nullptr) {
    console.Error(std::string(kProgramName) + " " + name +
                  ": not in this build: it needs " + entry->command.needs);
    return kUsage;
  }
  const std::string who =
      kProgramName + (entry == entries_.end() ? "" : " " + name);
  std::reverse(words.begin(), words.end());
  try {
    app_.parse(std::move(words));
  } catch (const CLI::Success& asked) {  // for help or the version
    app_.exit(asked, *streams.out, *streams.err);
    return End(who, kSuccess, kFailure, &console);
  } catch (const CLI::ParseError& error) {
    UsageError(who, InOneLine(error.what()), &console);
    return kUsage;
  }
  return RunCommand(&*entry, &console);
}

ExitCode Program::RunCommand(Entry* entry, Console* console) {
  const std::string who = std::string(kProgramName) + " " + entry->command.name;
  const ExitCode on_error =
      entry->manual.undecided.empty() ? kFailure : kUndecided;
  ExitCode code = on_error;
  try {
    if (entry->json) console->StartJson();
    code = entry->run(console);
  } catch (const std::bad_alloc&) {
    console->Error(who + ": out of memory");
  } catch (const std::exception& error) {
    console->Error(who + ": " + error.what());
  }
  return End(who, code, on_error, console);
}

}  // namespace deltabloom::tools
