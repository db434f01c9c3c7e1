#include "db_bench_ext/common/python.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>

#include "db_bench_ext/common/interrupt.h"

namespace deltabloom::bench {
namespace {

constexpr char kScripts[] = DELTABLOOM_SOURCE_DIR "/db_bench_ext/";

// Debian's own Python has the matplotlib of script/bootstrap; another one that
// comes first in the path may not.
const char* Python() {
  static constexpr char kDebian[] = "/usr/bin/python3";
  return access(kDebian, X_OK) == 0 ? kDebian : "python3";
}

class CommandLine {
 public:
  CommandLine(const std::string& script,
              const std::vector<std::string>& arguments)
      : words_{Python(), kScripts + script} {
    words_.insert(words_.end(), arguments.begin(), arguments.end());
    for (std::string& word : words_) pointers_.push_back(word.data());
    pointers_.push_back(nullptr);
  }
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  char* const* argv() { return pointers_.data(); }

 private:
  std::vector<std::string> words_;
  std::vector<char*> pointers_;
};

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

// Starts it with these files; interrupts mean to it what they usually mean.
pid_t Spawn(CommandLine* command, std::FILE* in, std::FILE* messages) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(in), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(messages), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(messages), STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t child = 0;
  const int failure = posix_spawnp(&child, Python(), &actions, &attributes,
                                   command->argv(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) {
    throw std::runtime_error(std::string("cannot run ") + Python() + ": " +
                             std::strerror(failure));
  }
  return child;
}

}  // namespace

void RunPython(const std::string& script,
               const std::vector<std::string>& arguments,
               const std::string& input) {
  const File in = TemporaryFile();
  const File messages = TemporaryFile();
  std::fwrite(input.data(), 1, input.size(), in.get());
  if (std::fflush(in.get()) != 0) {
    throw std::runtime_error("cannot write a temporary file: " +
                             std::string(std::strerror(errno)));
  }
  std::rewind(in.get());

  CommandLine command(script, arguments);
  const pid_t child = Spawn(&command, in.get(), messages.get());
  SetChild(child);
  int status = -1;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  SetChild(0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  const std::string message = LastLine(messages.get());
  throw std::runtime_error(message.empty() ? script + " stopped" : message);
}

void RequirePlotting(const std::string& option) {
  try {
    RunPython("common/can_draw.py", {}, "");
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(option + ": " + error.what() +
                             "; install the package python3-matplotlib");
  }
}

void BecomePython(const std::string& script,
                  const std::vector<std::string>& arguments) {
  CommandLine command(script, arguments);
  ForgetInterrupts();
  execvp(Python(), command.argv());
  throw std::runtime_error(std::string("cannot run ") + Python() + ": " +
                           std::strerror(errno));
}

}  // namespace deltabloom::bench
