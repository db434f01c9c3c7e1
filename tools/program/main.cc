#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "tools/program/console.h"
#include "tools/program/program.h"

namespace deltabloom::tools {
namespace {

// Part of the build: the manual pages and the completion.
void WriteDocuments(const Program& program, const std::string& directory) {
  const auto write = [&](const std::string& end, const std::string& text) {
    std::ofstream file;
    file.exceptions(std::ios::badbit | std::ios::failbit);
    file.open(directory + "/" + program.about().name + end, std::ios::binary);
    file << text << std::flush;
  };
  write(".1", ManPage(program));
  write(".bash", BashCompletion(program));
  for (const Program::Entry& entry : program.entries()) {
    if (entry.options == nullptr) continue;
    write("-" + entry.command.name + ".1", ManPage(program, entry));
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

int Main(const About& about, const std::vector<Command>& commands, int argc,
         char** argv) {
  OpenStandardStreams();
  // Writing beyond the limit of a file's size is an error then, as any other.
  std::signal(SIGXFSZ, SIG_IGN);
  if (argc < 1) return kUsage;  // the caller may pass no name
  const std::vector<std::string> arguments(argv, argv + argc);
  Program program(about, commands);
  if (argc == 3 && arguments[1] == "--write-documents") {
    WriteDocuments(program, arguments[2]);
    return kSuccess;
  }
  return program.Run(arguments, {&std::cout, &std::cerr,
                                 isatty(STDOUT_FILENO) != 0, ErrColumns()});
}

}  // namespace deltabloom::tools
