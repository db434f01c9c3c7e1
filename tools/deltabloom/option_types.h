// Kinds of values on a command line that CLI11 does not know.
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_OPTION_TYPES_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_OPTION_TYPES_H_

#include <CLI/CLI.hpp>
#include <chrono>
#include <string>

namespace deltabloom::tools {

// "90", "90s", "500ms", "5m", "12h", "30d"; a number alone is seconds. False if
// it is none of these or more than 100 years.
bool ParseDuration(const std::string& text, std::chrono::milliseconds* time);

// An option of that kind.
CLI::Option* AddDuration(CLI::App* app, const std::string& name,
                         std::chrono::milliseconds* time,
                         const std::string& what);

// CLI11 takes -1 for the largest number.
CLI::Validator NotNegative();

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_OPTION_TYPES_H_
