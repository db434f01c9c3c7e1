#include "tools/deltabloom/help.h"

#include <sstream>

#include "tools/deltabloom/program.h"

namespace deltabloom::tools {

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

HelpFormatter::HelpFormatter(const Manual& manual) : manual_(manual) {}

std::string HelpFormatter::make_description(const CLI::App* app) const {
  std::string text = app->get_description() + ".\n\n";
  for (const std::string& paragraph : manual_.description) {
    text += Filled(paragraph, 0) + "\n";
  }
  return text;
}

std::string HelpFormatter::make_footer(const CLI::App*) const {
  std::string text = "Examples:\n";
  for (const Example& example : manual_.examples) {
    text += "  " + example.command + "\n" + Filled(example.does, 6);
  }
  text += "\nExit status:\n" + Filled("0  " + manual_.success, 2) +
          Filled("1  " + manual_.failure, 2) +
          Filled("2  " + UsageMeaning(manual_), 2);
  if (!manual_.environment.empty()) text += "\nEnvironment:\n";
  for (const Variable& variable : manual_.environment) {
    text += "  " + variable.name + "\n" + Filled(variable.does, 6);
  }
  return text;
}

}  // namespace deltabloom::tools
