#include "db_bench_ext/common/program.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <new>
#include <stdexcept>
#include <utility>

#include "db_bench_ext/common/errors.h"
#include "db_bench_ext/common/interrupt.h"
#include "db_bench_ext/common/progress.h"

namespace deltabloom::bench {

int RunProgram(const std::string& name, const std::function<int()>& body) {
  HandleInterrupts(name);
  std::string problem;
  int exit_code = 1;
  try {
    return body();
  } catch (const UsageError& error) {
    problem = std::string(error.what()) + " (see --help)";
    exit_code = 2;
  } catch (const std::bad_alloc&) {
    problem = "out of memory: ask for fewer keys";
  } catch (const std::exception& error) {
    problem = error.what();
  }
  ShowProgress("");
  std::fprintf(stderr, "%s: %s\n", name.c_str(), problem.c_str());
  return exit_code;
}

bool ParseCommandLine(std::vector<std::string> arguments, CLI::App* app) {
  // CLI11 takes them from the back.
  std::reverse(arguments.begin(), arguments.end());
  try {
    app->parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    Print(app->help());
    return false;
  } catch (const CLI::ExtrasError&) {
    throw UsageError("unknown option or argument: " + app->remaining().front());
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
  return true;
}

void Print(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
    throw std::runtime_error("cannot write to standard output");
  }
}

}  // namespace deltabloom::bench
