// What the programs' main functions have in common.
#ifndef DELTABLOOM_DB_BENCH_EXT_COMMON_PROGRAM_H_
#define DELTABLOOM_DB_BENCH_EXT_COMMON_PROGRAM_H_

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace deltabloom::bench {

// Runs `body`, whose result is the exit code. Handles interrupts, and makes one
// line on standard error and an exit code of what it throws: 2 of a UsageError,
// 1 of other exceptions. Call it first in main.
int RunProgram(const std::string& name, const std::function<int()>& body);

// False if help was asked for, which has been printed. Throws UsageError.
bool ParseCommandLine(std::vector<std::string> arguments, CLI::App* app);

// Writes to standard output at once; throws std::runtime_error.
void Print(const std::string& text);

}  // namespace deltabloom::bench

#endif  // DELTABLOOM_DB_BENCH_EXT_COMMON_PROGRAM_H_
