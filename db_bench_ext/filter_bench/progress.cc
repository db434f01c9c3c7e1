#include "db_bench_ext/filter_bench/progress.h"

#include <unistd.h>

#include <cstdio>

namespace deltabloom::bench {

void ShowProgress(const std::string& text) {
  static const bool on_terminal = isatty(STDERR_FILENO) == 1;
  if (!on_terminal) return;
  std::fprintf(stderr, "\r\033[K%s", text.c_str());
  std::fflush(stderr);
}

}  // namespace deltabloom::bench
