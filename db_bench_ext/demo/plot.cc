#include "db_bench_ext/demo/plot.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

#include "db_bench_ext/demo/interrupt.h"

namespace deltabloom::demo {

namespace {

// Debian's own Python: the one that Debian's matplotlib is installed for.
constexpr char kPython[] = "/usr/bin/python3";
constexpr char kScript[] = DELTABLOOM_DEMO_PLOT_SCRIPT;

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

File TemporaryFile() {
  File file(std::tmpfile(), std::fclose);
  if (file == nullptr) throw std::runtime_error("cannot make a temporary file");
  return file;
}

std::string LastLine(std::FILE* file) {
  std::rewind(file);
  std::string last, line;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) {
    if (c != '\n') {
      line.push_back(static_cast<char>(c));
    } else if (!line.empty()) {
      last = std::move(line);
      line.clear();
    }
  }
  return line.empty() ? last : line;
}

// Runs plot.py with one argument and `input` as its standard input. Returns
// what went wrong, in one line; nothing if all went well.
std::string RunScript(const std::string& argument, const std::string& input) {
  const File in = TemporaryFile();
  const File messages = TemporaryFile();
  std::fwrite(input.data(), 1, input.size(), in.get());
  if (std::fflush(in.get()) != 0) return "the disk is full";
  std::rewind(in.get());

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(in.get()), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(messages.get()),
                                   STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(messages.get()),
                                   STDERR_FILENO);
  std::vector<std::string> words = {kPython, kScript, argument};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  const int failure =
      posix_spawn(&child, kPython, &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) return std::string("cannot run ") + kPython;

  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  ThrowIfInterrupted();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
  const std::string message = LastLine(messages.get());
  return message.empty() ? "plot.py stopped" : message;
}

}  // namespace

void RequirePlotting() {
  const std::string problem = RunScript("--check", "");
  if (!problem.empty()) {
    throw std::runtime_error("--plot: " + problem +
                             "; install the package python3-matplotlib");
  }
}

void DrawPlot(const std::string& json, const std::string& png_path) {
  const std::string problem = RunScript(png_path, json);
  if (!problem.empty()) throw std::runtime_error("--plot: " + problem);
}

}  // namespace deltabloom::demo
