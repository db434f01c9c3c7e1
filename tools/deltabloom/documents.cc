// The manual pages and the completion for Bash, generated from the commands.
#include <algorithm>
#include <cctype>

#include "tools/deltabloom/program.h"

namespace deltabloom::tools {
namespace {

using Options = std::vector<const CLI::Option*>;
using Actions = std::vector<const CLI::App*>;

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

Actions ActionsOf(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// A section of each action with its own options, then the options that all
// actions have.
std::string ActionSections(const Actions& actions) {
  const auto is_common = [&actions](const CLI::Option* option) {
    return std::all_of(
        actions.begin(), actions.end(), [option](const CLI::App* action) {
          const auto* same = action->get_option_no_throw(option->get_name());
          return same != nullptr &&
                 same->get_description() == option->get_description();
        });
  };
  std::string text = ".SH ACTIONS\n";
  Options common;
  for (const CLI::App* action : actions) {
    Options own = OptionsOf(*action);
    const auto end = std::stable_partition(
        own.begin(), own.end(), [&](const auto* o) { return !is_common(o); });
    common.assign(end, own.end());
    own.erase(end, own.end());
    text += ".SS " + Bold(action->get_name()) + PositionalNames(*action) +
            "\n" + Roff(action->get_description()) + ".\n" + Items(own);
  }
  return text + ".SH OPTIONS OF ALL ACTIONS\n" + Items(common);
}

std::string ExitStatus(const std::string& success, const std::string& failure,
                       const std::string& usage) {
  return ".SH EXIT STATUS\n" + Item(Bold("0"), success) +
         Item(Bold("1"), failure) + Item(Bold("2"), usage);
}

std::string Terms(const std::string& title, const std::vector<Term>& terms) {
  std::string text = terms.empty() ? "" : ".SH " + title + "\n";
  for (const Term& term : terms) text += Item(Bold(term.name), term.does);
  return text;
}

// The words that may follow `path`, a line for it and for each of its
// subcommands: names first, then options.
std::string Offers(const CLI::App& app, const std::string& path) {
  std::string words;
  std::string below;
  for (const CLI::App* sub : ActionsOf(app)) {
    if (sub->get_option_no_throw("--json") == nullptr) continue;  // not built
    words += sub->get_name() + " ";
    below += Offers(*sub, path + " " + sub->get_name());
  }
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      words += "--" + name + " ";
    }
  }
  return "    ['" + path + "']='" + words + "'\n" + below;
}

}  // namespace

std::string ManPage(const Program& program) {
  const std::string name = kProgramName;
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
  return Title(name, kProgramSummary) + Bold(name) + " " + Italic("COMMAND") +
         " ...\n.br\n" + Bold(name) + " " + Bold("--help") + " | " +
         Bold("--version") + "\n" + ".SH COMMANDS\n" + commands +
         ".SH OPTIONS\n" + Items(OptionsOf(program.options())) +
         ".SH OUTPUT\n" +
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

std::string ManPage(const Program::Entry& entry) {
  const std::string name = std::string(kProgramName) + "-" + entry.command.name;
  const Manual& manual = entry.command.manual;
  const Actions actions = ActionsOf(*entry.options);
  return Title(name, entry.command.summary) +
         Bold(std::string(kProgramName) + " " + entry.command.name) +
         (actions.empty() ? "" : " " + Italic("ACTION")) + " [" +
         Italic("OPTIONS") + "]" + PositionalNames(*entry.options) + "\n" +
         ".SH DESCRIPTION\n" + RoffParagraphs(manual.description) +
         (actions.empty() ? ".SH OPTIONS\n" + Items(OptionsOf(*entry.options))
                          : ActionSections(actions)) +
         Terms("EXAMPLES", manual.examples) +
         ExitStatus(manual.success, manual.failure, UsageMeaning(manual)) +
         Terms("ENVIRONMENT", manual.environment) + ".SH SEE ALSO\n" +
         Bold(kProgramName) + "(1)\n";
}

// Options are offered after a dash only, so that Bash completes files
// otherwise.
std::string BashCompletion(const Program& program) {
  const std::string name = kProgramName;
  return "# Completion of " + name + " for Bash.\n_" + name + R"(() {
  local word=${COMP_WORDS[COMP_CWORD]} path= words
  local -A offers=(
)" + Offers(program.options(), name) +
         R"(  )
  path=)" +
         name + R"(
  if [ "$COMP_CWORD" -gt 1 ]; then path+=" ${COMP_WORDS[1]}"; fi
  if [ "$COMP_CWORD" -gt 2 ]; then
    words="$path ${COMP_WORDS[2]}"
    if [ -n "${offers[$words]-}" ]; then path=$words; fi
  fi
  words=${offers[$path]-}
  if [[ $word != -* ]]; then words=${words%%--*}; fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o bashdefault -o default -F _)" +
         name + " " + name + "\n";
}

}  // namespace deltabloom::tools
