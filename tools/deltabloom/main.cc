// The command deltabloom.
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <iostream>

#include "tools/deltabloom/program.h"

namespace {

// The width of the terminal on standard error; 0 if standard error is no
// terminal that can redraw a line.
size_t ErrColumns() {
  const char* kind = std::getenv("TERM");
  if (isatty(STDERR_FILENO) == 0 || kind == nullptr ||
      std::strcmp(kind, "dumb") == 0) {
    return 0;
  }
  winsize size = {};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 20) {
    return 80;
  }
  return size.ws_col;
}

}  // namespace

int main(int argc, char** argv) {
  using deltabloom::tools::Program;
  deltabloom::tools::Streams streams;
  streams.out = &std::cout;
  streams.err = &std::cerr;
  streams.out_is_terminal = isatty(STDOUT_FILENO) != 0;
  streams.err_columns = ErrColumns();
  // The caller of a program may pass no name.
  if (argc < 1) return deltabloom::tools::kUsage;
  return Program(deltabloom::tools::Commands())
      .Run(std::vector<std::string>(argv, argv + argc), streams);
}
