#include "tools/deltabloom/documents.h"

namespace deltabloom::tools {
namespace {

// Text that man(7) prints as it is.
std::string Roff(const std::string& text) {
  std::string roff;
  for (const char c : text) {
    if (c == '\\') {
      roff += "\\e";
    } else if (c == '-') {
      roff += "\\-";
    } else {
      // A line that begins with one of these would be a request.
      if (roff.empty() && (c == '.' || c == '\'')) roff += "\\&";
      roff += c;
    }
  }
  return roff;
}

std::string Bold(const std::string& text) {
  return "\\fB" + Roff(text) + "\\fR";
}

std::string Italic(const std::string& text) {
  return "\\fI" + Roff(text) + "\\fR";
}

std::string Section(const std::string& title) { return ".SH " + title + "\n"; }

// A term, which is roff already, and what it means.
std::string Item(const std::string& term, const std::string& text) {
  return ".TP\n" + term + "\n" + Roff(text) + "\n";
}

std::string Title(const std::string& name, const std::string& summary) {
  std::string title;
  for (const char c : name) {
    title += static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  }
  std::string lower = summary;
  if (!lower.empty() && lower[0] >= 'A' && lower[0] <= 'Z') {
    lower[0] = static_cast<char>(lower[0] - 'A' + 'a');
  }
  return "." + std::string("TH \"") + title + "\" 1 \"\" \"Deltabloom " +
         DELTABLOOM_VERSION + "\" \"User Commands\"\n" + Section("NAME") +
         Roff(name) + " \\- " + Roff(lower) + "\n";
}

// "-h, --help", "--seed N", "PATH..."
std::string Term(const CLI::Option& option) {
  if (option.get_positional()) {
    return Italic(option.get_name(true, false)) +
           (option.get_items_expected_max() > 1 ? "..." : "");
  }
  std::string term;
  for (const std::string& name : option.get_snames()) {
    term += (term.empty() ? "" : ", ") + Bold("-" + name);
  }
  for (const std::string& name : option.get_lnames()) {
    term += (term.empty() ? "" : ", ") + Bold("--" + name);
  }
  if (option.get_items_expected_max() > 0) {
    term += " " + Italic(option.get_type_name());
  }
  return term;
}

// Positional ones first, as one gives them last but thinks of them first. Only
// those for which `wanted` is true.
template <typename Wanted>
std::string Options(const CLI::App& app, const Wanted& wanted) {
  std::string text;
  for (const bool positional : {true, false}) {
    for (const CLI::Option* option : app.get_options()) {
      if (option->get_positional() != positional || !wanted(*option)) continue;
      text += Item(Term(*option), option->get_description() + ".");
    }
  }
  return text;
}

std::string Options(const CLI::App& app) {
  return Options(app, [](const CLI::Option&) { return true; });
}

using Actions = std::vector<const CLI::App*>;

Actions ActionsOf(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// Do all actions have the same option?
bool IsCommon(const CLI::Option& option, const Actions& actions) {
  for (const CLI::App* action : actions) {
    const CLI::Option* same = action->get_option_no_throw(option.get_name());
    if (same == nullptr ||
        same->get_description() != option.get_description()) {
      return false;
    }
  }
  return true;
}

// A section of each action with what is its own, then what is the same for all.
std::string ActionSections(const Actions& actions) {
  std::string text = Section("ACTIONS");
  for (const CLI::App* action : actions) {
    std::string synopsis = Bold(action->get_name());
    for (const CLI::Option* option : action->get_options()) {
      if (option->get_positional()) synopsis += " " + Term(*option);
    }
    text += ".SS " + synopsis + "\n" + Roff(action->get_description()) + ".\n";
    text += Options(*action, [&actions](const CLI::Option& option) {
      return !IsCommon(option, actions);
    });
  }
  return text + Section("OPTIONS OF ALL ACTIONS") +
         Options(*actions.front(), [&actions](const CLI::Option& option) {
           return IsCommon(option, actions);
         });
}

std::string ExitStatus(const std::string& success, const std::string& failure,
                       const std::string& usage) {
  return Section("EXIT STATUS") + Item(Bold("0"), success) +
         Item(Bold("1"), failure) + Item(Bold("2"), usage);
}

}  // namespace

std::string ManPage(const Program& program) {
  const std::string name = kProgramName;
  std::string page = Title(name, kProgramSummary) + Section("SYNOPSIS") +
                     Bold(name) + " " + Italic("COMMAND") + " ...\n.br\n" +
                     Bold(name) + " " + Bold("--help") + " | " +
                     Bold("--version") + "\n" + Section("COMMANDS");
  for (const Program::Entry& entry : program.entries()) {
    const bool built = entry.options != nullptr;
    page += Item(built ? Bold(name + "-" + entry.command.name) + "(1)"
                       : Bold(name + " " + entry.command.name),
                 entry.command.summary + "." +
                     (built ? ""
                            : " Not in this build: it needs " +
                                  entry.command.needs + "."));
  }
  page += Section("OPTIONS") + Options(program.options());
  page += Section("OUTPUT");
  page += Roff(
      "Results go to standard output: as text, or, where a command has the "
      "option --json, as one JSON document. Errors go to standard error, one "
      "line each, and so does the progress of long runs if it is a terminal.");
  page += "\n.PP\n";
  page += Roff(
      "Paths, names and keys come from others and may hold any bytes. Control "
      "characters, characters that end lines, turn the direction of text or "
      "have no width, and bytes that are not UTF-8 are written as \\x and two "
      "hexadecimal digits for each byte, a backslash as \\\\; in JSON, too, "
      "inside its own escapes.");
  page += "\n";
  page += ExitStatus("all is well", "something is not, or could not be done",
                     kUsageMeaning);
  page += Section("SEE ALSO");
  std::string others;
  for (const Program::Entry& entry : program.entries()) {
    if (entry.options == nullptr) continue;
    others += (others.empty() ? "" : ", ") +
              Bold(name + "-" + entry.command.name) + "(1)";
  }
  return page + others + "\n";
}

std::string ManPage(const Program::Entry& entry) {
  const std::string name = std::string(kProgramName) + "-" + entry.command.name;
  std::string page =
      Title(name, entry.command.summary) + Section("SYNOPSIS") +
      Bold(std::string(kProgramName) + " " + entry.command.name) +
      (ActionsOf(*entry.options).empty() ? "" : " " + Italic("ACTION")) + " [" +
      Italic("OPTIONS") + "]";
  for (const CLI::Option* option : entry.options->get_options()) {
    if (option->get_positional()) page += " " + Term(*option);
  }
  page += "\n" + Section("DESCRIPTION");
  for (size_t i = 0; i < entry.manual.description.size(); ++i) {
    page += (i == 0 ? "" : ".PP\n") + Roff(entry.manual.description[i]) + "\n";
  }
  const Actions actions = ActionsOf(*entry.options);
  page += actions.empty() ? Section("OPTIONS") + Options(*entry.options)
                          : ActionSections(actions);
  page += Section("EXAMPLES");
  for (const Example& example : entry.manual.examples) {
    page += Item(Bold(example.command), example.does);
  }
  page += ExitStatus(entry.manual.success, entry.manual.failure,
                     UsageMeaning(entry.manual));
  if (!entry.manual.environment.empty()) page += Section("ENVIRONMENT");
  for (const Variable& variable : entry.manual.environment) {
    page += Item(Bold(variable.name), variable.does);
  }
  return page + Section("SEE ALSO") + Bold(kProgramName) + "(1)\n";
}

}  // namespace deltabloom::tools
