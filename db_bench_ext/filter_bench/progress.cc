#include "db_bench_ext/filter_bench/progress.h"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string_view>

namespace deltabloom::bench {
namespace {

bool OnTerminal() {
  static const bool on_terminal = isatty(STDERR_FILENO) == 1;
  return on_terminal;
}

extern "C" void Interrupted(int) {
  constexpr std::string_view text = "\r\033[Kfilter_bench: interrupted\n";
  constexpr size_t escape = 4;  // useless in a file
  const std::string_view shown =
      isatty(STDERR_FILENO) == 1 ? text : text.substr(escape);
  // There is nobody to tell if this fails.
  [[maybe_unused]] const ssize_t written =
      write(STDERR_FILENO, shown.data(), shown.size());
  _exit(130);
}

}  // namespace

void ShowProgress(const std::string& text) {
  if (!OnTerminal()) return;
  std::fprintf(stderr, "\r\033[K%s", text.c_str());
  std::fflush(stderr);
}

void HandleInterrupts() {
  std::signal(SIGINT, Interrupted);
  std::signal(SIGTERM, Interrupted);
}

}  // namespace deltabloom::bench
