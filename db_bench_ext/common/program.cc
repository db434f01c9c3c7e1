#include "db_bench_ext/common/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "db_bench_ext/common/files.h"
#include "db_bench_ext/common/results.h"
#include "util/json.h"

namespace deltabloom::bench {
namespace {

bool ProgressIsShown() {
  static const bool shown = [] {
    struct stat out = {};
    const bool piped = fstat(STDOUT_FILENO, &out) == 0 &&
                       (S_ISFIFO(out.st_mode) || S_ISSOCK(out.st_mode));
    return isatty(STDERR_FILENO) == 1 && !piped;
  }();
  return shown;
}

// Debian's own Python has the matplotlib of script/bootstrap; another one that
// comes first in the path may lack it.
const char* Python() {
  static constexpr char kDebian[] = "/usr/bin/python3";
  return access(kDebian, X_OK) == 0 ? kDebian : "python3";
}

// Returns the exit code, or -1 if Python could not be started. An interrupt
// ends the child before the files are removed.
int RunPython(std::vector<std::string> words, const std::string& input) {
  std::vector<char*> arguments;
  words.insert(words.begin(), Python());
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::FILE* const in = std::tmpfile();
  if (in == nullptr) throw std::runtime_error("cannot make a temporary file");
  // fseek also writes what is buffered. rewind would hide its errors.
  const bool ready =
      std::fwrite(input.data(), 1, input.size(), in) == input.size() &&
      std::fseek(in, 0, SEEK_SET) == 0;
  const pid_t child = ready ? fork() : -1;
  if (child == 0) {
    ForgetInterrupts();
    dup2(fileno(in), STDIN_FILENO);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  int status = -1;
  if (child > 0) {
    SetChild(child);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    SetChild(0);
  }
  std::fclose(in);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

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
    problem = "out of memory: use fewer keys";
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

CLI::Validator Count(uint64_t least, uint64_t most) {
  const auto parse = [=](std::string& text) {
    std::string digits = text;
    uint64_t unit = 1;
    const size_t letter = digits.empty()
                              ? std::string::npos
                              : std::string("kKmM").find(digits.back());
    if (letter != std::string::npos) {
      unit = letter < 2 ? 1000 : 1'000'000;
      digits.pop_back();
    }
    uint64_t value = 0;
    if (!internal::ParseNumber(digits, &value) || value > most / unit ||
        value * unit < least) {
      return "'" + text + "' is not a whole number from " +
             WithThousands(least) + " to " + WithThousands(most);
    }
    text = std::to_string(value * unit);
    return std::string();
  };
  return CLI::Validator(parse, "");
}

CLI::Validator Number(double least, double most) {
  const auto check = [=](std::string& text) {
    double value = 0;
    if (internal::ParseNumber(text, &value) && value >= least &&
        value <= most) {
      return std::string();
    }
    return "'" + text + "' is not a number from " + Significant(least, 10) +
           " to " + Significant(most, 10);
  };
  return CLI::Validator(check, "");
}

CLI::Option* AsList(CLI::Option* option) {
  return option->delimiter(',')
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all()
      ->type_name("LIST");
}

void ShowProgress(const std::string& text) {
  if (!ProgressIsShown()) return;
  std::fprintf(stderr, "\r\033[K%s", text.c_str());
  std::fflush(stderr);
}

void PrintStep(const std::string& text) {
  ShowProgress("");
  std::fprintf(stderr, "%s\n", text.c_str());
}

void ProgressBar::SetActivity(const std::string& activity) {
  const std::lock_guard<std::mutex> lock(mutex_);
  activity_ = activity;
  Draw();
}

void ProgressBar::Advance(double steps) {
  const std::lock_guard<std::mutex> lock(mutex_);
  done_ += steps;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_draw_ >= std::chrono::milliseconds(100)) Draw();
}

void ProgressBar::Clear() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ShowProgress("");
}

void ProgressBar::Draw() {
  constexpr size_t kWidth = 30;
  const double share = std::clamp(done_ / total_, 0.0, 1.0);
  std::string bar(static_cast<size_t>(share * kWidth), '#');
  bar.resize(kWidth, ' ');
  ShowProgress("[" + bar + "] " + Fixed(share * 100, 0) + " %  " + activity_);
  last_draw_ = std::chrono::steady_clock::now();
}

void RequirePlotting(const std::string& option) {
  // Looks for the modules without loading them, which would take a second.
  constexpr char kProbe[] =
      "import importlib.util as u, sys\n"
      "sys.exit(not (u.find_spec('matplotlib') and u.find_spec('numpy')))";
  if (RunPython({"-c", kProbe}, "") != 0) {
    throw std::runtime_error(
        option + ": cannot draw; install the package python3-matplotlib");
  }
}

void RunPython(const std::string& script,
               const std::vector<std::string>& arguments,
               const std::string& input) {
  std::vector<std::string> words = {DELTABLOOM_SOURCE_DIR "/db_bench_ext/" +
                                    script};
  words.insert(words.end(), arguments.begin(), arguments.end());
  if (RunPython(std::move(words), input) != 0) {
    throw std::runtime_error(script + " failed");
  }
}

}  // namespace deltabloom::bench
