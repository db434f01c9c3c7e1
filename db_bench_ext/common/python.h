// What is left to Python: pictures and reports.
#ifndef DELTABLOOM_DB_BENCH_EXT_COMMON_PYTHON_H_
#define DELTABLOOM_DB_BENCH_EXT_COMMON_PYTHON_H_

#include <string>
#include <vector>

namespace deltabloom::bench {

// Scripts are named by their place in db_bench_ext of the source tree.

// Runs a script with `input` as its standard input. Throws std::runtime_error
// with the last line that it wrote if it fails.
void RunPython(const std::string& script,
               const std::vector<std::string>& arguments,
               const std::string& input);

// Throws std::runtime_error, with what to do, if this machine cannot draw.
// Takes next to no time; `option` is what asked for it.
void RequirePlotting(const std::string& option);

// The script takes this process over. Throws std::runtime_error if it cannot.
[[noreturn]] void BecomePython(const std::string& script,
                               const std::vector<std::string>& arguments);

}  // namespace deltabloom::bench

#endif  // DELTABLOOM_DB_BENCH_EXT_COMMON_PYTHON_H_
