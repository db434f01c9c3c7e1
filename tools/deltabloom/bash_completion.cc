#include "tools/deltabloom/documents.h"

namespace deltabloom::tools {
namespace {

// The names of options, without positional ones.
std::string OptionWords(const CLI::App& app) {
  std::string words;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      words += (words.empty() ? "--" : " --") + name;
    }
  }
  return words;
}

std::string Case(const std::string& indent, const std::string& pattern,
                 const std::string& words) {
  return indent + pattern + ") words='" + words + "' ;;\n";
}

// The word behind the command, once it stands there, decides.
std::string ActionPart(const std::string& cases) {
  if (cases.empty()) return "";
  return "  local action=\n"
         "  if [ \"$COMP_CWORD\" -gt 2 ]; then action=${COMP_WORDS[2]}; fi\n"
         "  case \"${COMP_WORDS[1]} $action\" in\n" +
         cases +
         "  esac\n"
         "  if [ \"$COMP_CWORD\" -eq 2 ] && [[ $words != --* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "    return\n"
         "  fi\n";
}

// What follows a command that has actions: their names, then their options.
std::string ActionCases(const Program::Entry& entry) {
  std::string names;
  std::string cases;
  for (const CLI::App* action : entry.options->get_subcommands({})) {
    names += action->get_name() + " ";
    cases +=
        Case("    ", "'" + entry.command.name + " " + action->get_name() + "'",
             OptionWords(*action));
  }
  if (names.empty()) return "";
  return Case("    ", "'" + entry.command.name + " '",
              names + OptionWords(*entry.options)) +
         cases;
}

}  // namespace

std::string BashCompletion(const Program& program) {
  std::string names;
  std::string cases;
  std::string actions;
  for (const Program::Entry& entry : program.entries()) {
    if (entry.options == nullptr) continue;
    names += entry.command.name + " ";
    cases += Case("    ", entry.command.name, OptionWords(*entry.options));
    actions += ActionCases(entry);
  }
  const std::string name = kProgramName;
  return "# Completion of " + name +
         " for Bash: commands, options, and files.\n"
         "_" +
         name +
         "() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} words=\n"
         "  COMPREPLY=()\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
         "    words='" +
         names + OptionWords(program.options()) +
         "'\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "    return\n"
         "  fi\n"
         "  case ${COMP_WORDS[1]} in\n" +
         cases + "  esac\n" + ActionPart(actions) +
         "  if [[ $word == -* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "  fi\n"
         "}\n"
         "complete -o bashdefault -o default -F _" +
         name + " " + name + "\n";
}

}  // namespace deltabloom::tools
