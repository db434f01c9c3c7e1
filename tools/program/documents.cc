// The manual pages and the completion for Bash, generated from the commands.
#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "tools/program/program.h"

namespace deltabloom::tools {
namespace {

using Options = std::vector<const CLI::Option*>;

// Text that man(7) prints as it is.
std::string Roff(const std::string& text) {
  // A line that begins with one of these would be a request.
  std::string roff =
      !text.empty() && (text[0] == '.' || text[0] == '\'') ? "\\&" : "";
  for (const char c : text) {
    roff += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  }
  return roff;
}

std::string Bold(const std::string& text) {
  return "\\fB" + Roff(text) + "\\fR";
}

std::string Italic(const std::string& text) {
  return "\\fI" + Roff(text) + "\\fR";
}

// A term, which is roff already, and what it means.
std::string Item(const std::string& term, const std::string& text) {
  return ".TP\n" + term + "\n" + Roff(text) + "\n";
}

std::string RoffParagraphs(const std::string& text) {
  std::string roff;
  for (const std::string& paragraph : Paragraphs(text)) {
    roff += (roff.empty() ? "" : ".PP\n") + Roff(paragraph) + "\n";
  }
  return roff;
}

std::string Title(std::string name, std::string summary) {
  std::string upper = name;
  for (char& c : upper) c = static_cast<char>(std::toupper(c));
  summary[0] = static_cast<char>(std::tolower(summary[0]));
  return ".TH \"" + upper + "\" 1 \"\" \"Deltabloom " + DELTABLOOM_VERSION +
         "\" \"User Commands\"\n" + ".SH NAME\n" + Roff(name) + " \\- " +
         Roff(summary) + "\n" + ".SH SYNOPSIS\n";
}

// "-h, --help", "--seed N", "PATH..."
std::string NameOf(const CLI::Option& option) {
  if (option.get_positional()) {
    return Italic(option.get_name(true, false)) +
           (option.get_items_expected_max() > 1 ? "..." : "");
  }
  std::string names;
  for (const std::string& name : option.get_snames()) {
    names += ", " + Bold("-" + name);
  }
  for (const std::string& name : option.get_lnames()) {
    names += ", " + Bold("--" + name);
  }
  if (option.get_items_expected_max() > 0) {
    names += " " + Italic(option.get_type_name());
  }
  return names.substr(2);
}

// Positional ones come first.
Options OptionsOf(const CLI::App& app) {
  Options options;
  for (const CLI::Option* option : app.get_options()) options.push_back(option);
  std::stable_partition(options.begin(), options.end(),
                        [](const auto* o) { return o->get_positional(); });
  return options;
}

std::string Items(const Options& options) {
  std::string text;
  for (const CLI::Option* option : options) {
    text += Item(NameOf(*option), option->get_description() + ".");
  }
  return text;
}

std::string PositionalNames(const CLI::App& app) {
  std::string text;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) text += " " + NameOf(*option);
  }
  return text;
}

std::string ExitStatus(const std::string& success, const std::string& failure,
                       const std::string& usage) {
  return ".SH EXIT STATUS\n" + Item(Bold("0"), success) +
         Item(Bold("1"), failure) + Item(Bold("2"), usage);
}

std::string TermItems(const std::string& title,
                      const std::vector<Term>& terms) {
  std::string text = terms.empty() ? "" : ".SH " + title + "\n";
  for (const Term& term : terms) text += Item(Bold(term.name), term.does);
  return text;
}

// Returns what may follow the program, and each of its commands: names first,
// then options.
std::string Offers(const Program& program) {
  const auto options_of = [](const CLI::App& app) {
    std::string words;
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& name : option->get_lnames()) {
        words += "--" + name + " ";
      }
    }
    return words;
  };
  const std::string& name = program.about().name;
  std::string names;
  std::string lines;
  for (const Program::Entry& entry : program.entries()) {
    if (entry.options == nullptr) continue;  // not in this build
    names += entry.command.name + " ";
    lines += "    ['" + name + " " + entry.command.name + "']='" +
             options_of(*entry.options) + "'\n";
  }
  return "    ['" + name + "']='" + names + options_of(program.options()) +
         "'\n" + lines;
}

}  // namespace

std::string ManPage(const Program& program) {
  const std::string& name = program.about().name;
  std::string commands;
  std::string others;
  for (const Program::Entry& entry : program.entries()) {
    const std::string summary = entry.command.summary + ".";
    if (entry.options == nullptr) {
      commands += Item(Bold(name + " " + entry.command.name),
                       summary + " Not in this build: it needs " +
                           entry.command.needs + ".");
      continue;
    }
    const std::string page = Bold(name + "-" + entry.command.name) + "(1)";
    commands += Item(page, summary);
    others += (others.empty() ? "" : ", ") + page;
  }
  const std::string& description = program.about().description;
  return Title(name, program.about().summary) + Bold(name) + " " +
         Italic("COMMAND") + " ...\n.br\n" + Bold(name) + " " + Bold("--help") +
         " | " + Bold("--version") + "\n" +
         (description.empty()
              ? ""
              : ".SH DESCRIPTION\n" + RoffParagraphs(description)) +
         ".SH COMMANDS\n" + commands + ".SH OPTIONS\n" +
         Items(OptionsOf(program.options())) + ".SH OUTPUT\n" +
         RoffParagraphs(
             R"(Results go to standard output: as text or, with --json, as one
JSON document. Errors go to standard error, one line each, and so does the
progress of long runs if standard error is a terminal.

Paths, names and keys may hold any bytes. Control characters, characters that
end lines, turn the direction of text or have no width, and bytes that are not
UTF-8 are written as \x and two hexadecimal digits for each byte, a backslash as
\\. This holds for JSON as well, inside its own escapes.)") +
         ExitStatus("success", "something is wrong, or could not be done",
                    UsageMeaning({})) +
         ".SH SEE ALSO\n" + others + "\n";
}

std::string ManPage(const Program& program, const Program::Entry& entry) {
  const std::string& program_name = program.about().name;
  const std::string& command = entry.command.name;
  const Manual& manual = entry.command.manual;
  return Title(program_name + "-" + command, entry.command.summary) +
         Bold(program_name + " " + command) + " [" + Italic("OPTIONS") + "]" +
         PositionalNames(*entry.options) + "\n" + ".SH DESCRIPTION\n" +
         RoffParagraphs(manual.description) + ".SH OPTIONS\n" +
         Items(OptionsOf(*entry.options)) +
         TermItems("EXAMPLES", manual.examples) +
         ExitStatus(manual.success, manual.failure, UsageMeaning(manual)) +
         TermItems("ENVIRONMENT", manual.environment) + ".SH SEE ALSO\n" +
         Bold(program_name) + "(1)\n";
}

// Options are offered after a dash only, so that Bash completes files
// otherwise.
std::string BashCompletion(const Program& program) {
  const std::string& name = program.about().name;
  std::string function = "_" + name;
  std::replace(function.begin(), function.end(), '-', '_');
  return "# Completion of " + name + " for Bash.\n" + function + R"(() {
  local word=${COMP_WORDS[COMP_CWORD]} path= words
  local -A offers=(
)" + Offers(program) +
         R"(  )
  path=)" +
         name + R"(
  if [ "$COMP_CWORD" -gt 1 ]; then path+=" ${COMP_WORDS[1]}"; fi
  words=${offers[$path]-}
  if [[ $word != -* ]]; then words=${words%%--*}; fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o bashdefault -o default -F )" +
         function + " " + name + "\n";
}

}  // namespace deltabloom::tools
