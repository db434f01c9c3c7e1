// The command deltabloom.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>

#include "tools/deltabloom/program.h"

namespace deltabloom::tools {
namespace {

std::vector<Command> Commands() {
  return {InspectCommand(),  EstimateCommand(),
#ifdef DELTABLOOM_TOOLS_REDIS
          SharedCommand(),
#else
          {"shared",
           "Fill, query and rebuild filters in Redis",
           nullptr,
           "libhiredis-dev and -DDELTABLOOM_REDIS=ON"},
#endif
          VerifyCommand(),   DoctorCommand(),
#ifdef DELTABLOOM_TOOLS_ROCKSDB
          RefilterCommand(),
#else
          {"refilter",
           "Replace the filters of a database by better ones",
           nullptr,
           "RocksDB (librocksdb-dev)"},
#endif
#ifdef DELTABLOOM_PLUGIN_FROM_BIN
          RunCommand()
#else
          {"run",
           "Run a program with the RocksDB plugin preloaded",
           nullptr,
           "a shared RocksDB (librocksdb-dev)"}
#endif
  };
}

// Part of the build: the manual pages and the completion.
void WriteDocuments(const Program& program, const std::string& directory) {
  const auto write = [&](const std::string& end, const std::string& text) {
    std::ofstream file;
    file.exceptions(std::ios::badbit | std::ios::failbit);
    file.open(directory + "/" + kProgramName + end, std::ios::binary);
    file << text << std::flush;
  };
  write(".1", ManPage(program));
  write(".bash", BashCompletion(program));
  for (const Program::Entry& entry : program.entries()) {
    if (entry.options == nullptr) continue;
    write("-" + entry.command.name + ".1", ManPage(entry));
  }
}

// Opens those of the standard streams that are closed, so that no file that is
// opened later gets their output. To read only: writing to them still fails.
void OpenStandardStreams() {
  int opened = 0;
  while (opened >= 0 && opened <= STDERR_FILENO) {
    opened = open("/dev/null", O_RDONLY | O_CLOEXEC);
  }
  close(opened);
}

// The width of the terminal on standard error; 0 if standard error is no
// terminal that can redraw a line.
size_t ErrColumns() {
  const char* kind = std::getenv("TERM");
  if (isatty(STDERR_FILENO) == 0 || kind == nullptr ||
      std::strcmp(kind, "dumb") == 0) {
    return 0;
  }
  winsize size = {};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0;
  return known && size.ws_col >= 20 ? size.ws_col : 80;
}

}  // namespace
}  // namespace deltabloom::tools

int main(int argc, char** argv) {
  using namespace deltabloom::tools;
  OpenStandardStreams();
  // Writing beyond the limit of a file's size is an error then, as any other.
  std::signal(SIGXFSZ, SIG_IGN);
  if (argc < 1) return kUsage;  // the caller may pass no name
  const std::vector<std::string> arguments(argv, argv + argc);
  Program program(Commands());
  if (argc == 3 && arguments[1] == "--write-documents") {
    WriteDocuments(program, arguments[2]);
    return kSuccess;
  }
  return program.Run(arguments, {&std::cout, &std::cerr,
                                 isatty(STDOUT_FILENO) != 0, ErrColumns()});
}
