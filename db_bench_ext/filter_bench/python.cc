#include "db_bench_ext/filter_bench/python.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "db_bench_ext/filter_bench/interrupt.h"

namespace deltabloom::bench {
namespace {

constexpr char kSources[] = DELTABLOOM_SOURCE_DIR;

// Debian's own Python has the matplotlib of script/bootstrap; another one that
// comes first in the path may not.
const char* Python() {
  static constexpr char kDebian[] = "/usr/bin/python3";
  return access(kDebian, X_OK) == 0 ? kDebian : "python3";
}

std::string Script(const char* name) {
  return std::string(kSources) + "/db_bench_ext/filter_bench/" + name;
}

[[noreturn]] void Become(std::vector<std::string> words) {
  ForgetInterrupts();
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  std::fprintf(stderr, "filter_bench: cannot run %s: %s\n", words[0].c_str(),
               std::strerror(errno));
  _exit(1);
}

}  // namespace

bool DrawPlots(const Results& results, const Options& options) {
  const ScratchDirectory scratch;
  const std::string file = scratch.path() + "/results.json";
  bool drawn = WriteTo(
      file, [&](std::ostream* out) { WriteJson(results, options, out); });
  if (drawn) {
    const pid_t child = fork();
    if (child == 0) Become({Python(), Script("plots.py"), file, *options.plot});
    int status = -1;
    if (child > 0) waitpid(child, &status, 0);
    drawn = status == 0;
  }
  return drawn;
}

int WriteReport(const Options& options, int argc, char** argv) {
  const std::string target = options.report->empty()
                                 ? std::string(kSources) + "/docs"
                                 : *options.report;
  std::vector<std::string> words = {
      Python(),   Script("report.py"),
      "--bench",  std::filesystem::canonical("/proc/self/exe").string(),
      "--source", kSources,
      "--to",     target};
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.compare(0, 9, "--report=") == 0) continue;
    if (word == "--report") {
      if (i + 1 < argc && *options.report == argv[i + 1]) ++i;
      continue;
    }
    words.push_back(word);
  }
  Become(words);
}

}  // namespace deltabloom::bench
