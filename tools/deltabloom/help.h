// The text of --help.
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_HELP_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_HELP_H_

#include <string>

#include "tools/deltabloom/command.h"

namespace deltabloom::tools {

// The text in lines of at most 79 characters, each behind `indent` spaces.
std::string Filled(const std::string& text, size_t indent);

// A subcommand's help: CLI11's, between the description and, behind the
// options, the examples and the exit status of its manual.
class HelpFormatter : public CLI::Formatter {
 public:
  explicit HelpFormatter(const Manual& manual);

  std::string make_description(const CLI::App* app) const override;
  std::string make_footer(const CLI::App* app) const override;

 private:
  const Manual manual_;
};

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_HELP_H_
