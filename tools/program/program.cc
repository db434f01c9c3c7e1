#include "tools/program/program.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "tools/program/console.h"
#include "util/cpu.h"

namespace deltabloom::tools {
namespace {

// Ends all output.
ExitCode End(const std::string& who, ExitCode code, ExitCode on_error,
             Console* console) {
  errno = 0;
  if (console->Finish()) return code;
  const int error = errno;
  console->Error(who + ": standard output: cannot be written" +
                 (error == 0 ? "" : std::string(": ") + std::strerror(error)));
  return on_error;
}

// The library ignores unknown values without a message.
void CheckEnvironment(const std::string& who, Console* console) {
  const char* const cpu = std::getenv("DELTABLOOM_CPU");
  if (cpu == nullptr || *cpu == '\0') return;
  for (const internal::Cpu known : internal::kAllCpus) {
    if (std::strcmp(cpu, internal::CpuName(known)) == 0) return;
  }
  console->Error(who + ": warning: DELTABLOOM_CPU=" + cpu +
                 " is ignored: use " + internal::CpuNames());
}

// The text in lines of at most 79 characters, each after `indent` spaces.
std::string Filled(const std::string& text, size_t indent) {
  constexpr size_t kColumns = 79;
  std::string filled;
  std::string line(indent, ' ');
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const bool first = line.size() == indent;
    if (!first && line.size() + 1 + word.size() > kColumns) {
      filled += line + "\n";
      line.assign(indent, ' ');
    } else if (!first) {
      line += ' ';
    }
    line += word;
  }
  return filled + line + "\n";
}

std::string Terms(const std::string& title, const std::vector<Term>& terms) {
  std::string text = terms.empty() ? "" : "\n" + title + ":\n";
  for (const Term& term : terms) {
    text += "  " + term.name + "\n" + Filled(term.does, 6);
  }
  return text;
}

// Returns the text above the program's own help.
std::string HelpOf(const About& about) {
  std::string text = about.summary;
  for (const std::string& paragraph : Paragraphs(about.description)) {
    if (!paragraph.empty()) text += "\n\n" + Filled(paragraph, 0);
  }
  return text;
}

// A subcommand's help: CLI11's, after the description and before the examples
// and the exit status of the manual.
class HelpFormatter : public CLI::Formatter {
 public:
  explicit HelpFormatter(const Manual& manual) : manual_(manual) {}

  std::string make_description(const CLI::App* app) const override {
    std::string text = app->get_description() + ".\n\n";
    for (const std::string& paragraph : Paragraphs(manual_.description)) {
      text += Filled(paragraph, 0) + "\n";
    }
    return text;
  }

  std::string make_footer(const CLI::App*) const override {
    return Terms("Examples", manual_.examples).substr(1) + "\nExit status:\n" +
           Filled("0  " + manual_.success, 2) +
           Filled("1  " + manual_.failure, 2) +
           Filled("2  " + UsageMeaning(manual_), 2) +
           Terms("Environment", manual_.environment);
  }

 private:
  const Manual manual_;
};

}  // namespace

std::optional<double> ParseAmount(const std::string& text,
                                  const std::vector<Unit>& units, double least,
                                  double most) {
  const char* const end = text.data() + text.size();
  double number = 0;
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec != std::errc()) return std::nullopt;
  const std::string name(parsed.ptr, end);
  for (const Unit& unit : units) {
    if (name != unit.name) continue;
    const double amount = number * unit.factor;
    if (amount >= least && amount <= most) return amount;
  }
  return std::nullopt;
}

CLI::Option* AddDuration(CLI::App* app, const std::string& name,
                         std::chrono::milliseconds* time,
                         const std::string& what) {
  const auto parse = [name, time](const std::string& text) {
    constexpr double kDay = 86400e3;  // milliseconds
    const std::optional<double> ms = ParseAmount(text,
                                                 {{"", 1e3},
                                                  {"ms", 1},
                                                  {"s", 1e3},
                                                  {"m", 60e3},
                                                  {"h", 3600e3},
                                                  {"d", kDay}},
                                                 0, 100 * 366 * kDay);
    if (!ms.has_value()) {
      throw CLI::ValidationError(
          name, "'" + text +
                    "' is not a duration such as 500ms, 90s, 5m, 12h or 30d");
    }
    *time = std::chrono::milliseconds(static_cast<int64_t>(*ms));
  };
  return app->add_option_function<std::string>(name, parse, what)
      ->type_name("DURATION");
}

CLI::Validator NotNegative() {
  return {[](const std::string& text) {
            const bool negative = text.find('-') != std::string::npos;
            return std::string(negative ? "must not be negative" : "");
          },
          ""};
}

std::string UsageMeaning(const Manual& manual) {
  return "the command line was wrong, or names a command that is not in this "
         "build; nothing was done" +
         (manual.undecided.empty() ? "" : "; or " + manual.undecided);
}

std::vector<std::string> Paragraphs(const std::string& text) {
  std::vector<std::string> paragraphs(1);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::string& last = paragraphs.back();
    if (!line.empty()) {
      last += (last.empty() ? "" : " ") + line;
    } else if (!last.empty()) {
      paragraphs.emplace_back();
    }
  }
  return paragraphs;
}

Program::Program(const About& about, const std::vector<Command>& commands)
    : about_(about), app_(HelpOf(about), about.name) {
  constexpr char kHelp[] = "Print this help and exit";
  app_.set_version_flag("--version", about_.name + " " + DELTABLOOM_VERSION,
                        "Print the version and exit");
  app_.set_help_flag("-h,--help", kHelp);
  app_.footer("'" + about_.name + " COMMAND --help' describes each command.");
  app_.require_subcommand(1);
  for (const Command& command : commands) {
    Entry& entry = entries_.emplace_back();
    entry.command = command;
    CLI::App* options = app_.add_subcommand(command.name, command.summary);
    if (command.add_options == nullptr) {
      options->group("Commands that are not in this build");
      continue;
    }
    entry.options = options->group("Commands");
    options->set_help_flag("-h,--help", kHelp);
    options->add_flag("--json", entry.json,
                      "Print one JSON document instead of text");
    entry.run = command.add_options(options);
    options->formatter(std::make_shared<HelpFormatter>(command.manual));
  }
}

ExitCode Program::Run(const std::vector<std::string>& arguments,
                      const Streams& streams) {
  Console console(streams);
  std::vector<std::string> words(arguments.begin() + 1, arguments.end());
  const std::string name = words.empty() ? std::string() : words.front();
  const auto entry =
      std::find_if(entries_.begin(), entries_.end(),
                   [&name](const Entry& e) { return e.command.name == name; });
  const bool found = entry != entries_.end();
  if (found && entry->options == nullptr) {
    console.Error(about_.name + " " + name + ": not in this build: it needs " +
                  entry->command.needs);
    return kUsage;
  }
  if (found && entry->options->get_prefix_command()) {
    // CLI11 takes "--" for the end of the whole command, not of its options.
    const auto end = std::find_if(
        words.begin() + 1, words.end(), [](const std::string& word) {
          return word == "--" || word.substr(0, 1) != "-";
        });
    if (end != words.end() && *end == "--") words.erase(end);
  }
  const std::string who = about_.name + (found ? " " + name : "");
  std::string wrong = "expected a command, found " +
                      (name.empty() ? std::string("none") : name);
  if (found || name.substr(0, 1) == "-") {
    try {
      for (const std::string& word : words) {
        if (word == "--" || (found && entry->options->get_prefix_command())) {
          break;
        }
        // CLI11 would take the next word.
        if (word.substr(0, 2) == "--" && word.find('=') + 1 == word.size()) {
          throw CLI::ArgumentMismatch(word + " needs a value");
        }
      }
      std::reverse(words.begin(), words.end());
      app_.parse(std::move(words));
      return RunCommand(&*entry, &console);
    } catch (const CLI::Success& success) {  // help or version was printed
      app_.exit(success, *streams.out, *streams.err);
      return End(who, kSuccess, kFailure, &console);
    } catch (const CLI::ParseError& error) {
      wrong = error.what();  // may end with a full stop or a newline
      // Without a command CLI11 looks for that first.
      if (!found) wrong = CLI::ExtrasError({name}).what();
      // CLI11 looks at values first, but which are values an option may decide.
      if (found && error.get_name() == "ValidationError") {
        const std::vector<std::string> unknown = entry->options->remaining();
        if (!unknown.empty()) wrong = CLI::ExtrasError(unknown).what();
      }
    }
  }
  console.Error(who + ": " + wrong + "; see " + who + " --help");
  return kUsage;
}

ExitCode Program::RunCommand(Entry* entry, Console* console) {
  const std::string who = about_.name + " " + entry->command.name;
  const ExitCode on_error =
      entry->command.manual.undecided.empty() ? kFailure : kUndecided;
  ExitCode code = on_error;
  try {
    CheckEnvironment(who, console);
    if (entry->json) console->StartJson();
    code = entry->run(console);
  } catch (const std::bad_alloc&) {
    console->Error(who + ": out of memory");
  } catch (const std::filesystem::filesystem_error& error) {
    console->Error(who + ": " + error.path1().string() + ": " +
                   error.code().message());
  } catch (const std::exception& error) {
    console->Error(who + ": " + error.what());
  }
  return End(who, code, on_error, console);
}

}  // namespace deltabloom::tools
