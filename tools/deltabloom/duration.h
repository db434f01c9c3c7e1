// Lengths of time on a command line.
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_DURATION_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_DURATION_H_

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

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_DURATION_H_
