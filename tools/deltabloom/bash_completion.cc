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

}  // namespace

std::string BashCompletion(const Program& program) {
  std::string names;
  std::string cases;
  for (const Program::Entry& entry : program.entries()) {
    if (entry.options == nullptr) continue;
    names += entry.command.name + " ";
    cases += "    " + entry.command.name + ") words='" +
             OptionWords(*entry.options) + "' ;;\n";
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
         cases +
         "  esac\n"
         "  if [[ $word == -* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "  fi\n"
         "}\n"
         "complete -o bashdefault -o default -F _" +
         name + " " + name + "\n";
}

}  // namespace deltabloom::tools
