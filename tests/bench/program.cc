#include "tests/bench/program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace deltabloom::test {
namespace {

Finished Run(const std::vector<std::string>& arguments, bool interrupt) {
  const std::string err_file = ScratchFile("err");
  int out_pipe[2];
  if (pipe(out_pipe) != 0) throw std::runtime_error("pipe");
  const pid_t child = fork();
  if (child == 0) {
    dup2(out_pipe[1], STDOUT_FILENO);
    close(out_pipe[0]);
    close(out_pipe[1]);
    const int err = open(err_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(err, STDERR_FILENO);
    std::vector<std::string> words = {DELTABLOOM_FILTER_BENCH};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    execv(DELTABLOOM_FILTER_BENCH, pointers.data());
    _exit(127);
  }
  close(out_pipe[1]);
  Finished finished;
  char buffer[4096];
  for (ssize_t n; (n = read(out_pipe[0], buffer, sizeof(buffer))) > 0;) {
    if (interrupt) {
      kill(child, SIGINT);
      interrupt = false;
    }
    finished.out.append(buffer, static_cast<size_t>(n));
  }
  close(out_pipe[0]);
  int status = 0;
  waitpid(child, &status, 0);
  finished.exit_code =
      WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  finished.err = ReadFile(err_file);
  unlink(err_file.c_str());
  return finished;
}

}  // namespace

std::vector<std::string> Tiny(std::vector<std::string> more) {
  std::vector<std::string> arguments = {"--benchmark_min_time=0.0001"};
  for (const auto& [option, value] : {std::pair{"--repetitions", "1"},
                                      {"--many-filter-keys", "20k"},
                                      {"--samples", "1M"}}) {
    if (std::find(more.begin(), more.end(), option) != more.end()) continue;
    arguments.insert(arguments.end(), {option, value});
  }
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

Finished RunBench(const std::vector<std::string>& arguments) {
  return Run(arguments, false);
}

Finished RunBenchUntilOutputThenInterrupt(
    const std::vector<std::string>& arguments) {
  return Run(arguments, true);
}

std::string ScratchFile(const std::string& name) {
  const std::string path = ::testing::TempDir() + "filter_bench_test." +
                           std::to_string(getpid()) + "." + name;
  unlink(path.c_str());
  return path;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace deltabloom::test
