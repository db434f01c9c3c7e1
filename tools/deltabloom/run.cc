// deltabloom run: runs a program with the RocksDB plugin preloaded.
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "tools/deltabloom/commands.h"
#include "tools/program/console.h"
#include "tools/program/program.h"

namespace deltabloom::tools {
namespace {

namespace fs = std::filesystem;

constexpr char kPlugin[] = "libdeltabloom_rocksdb_plugin.so";

// Returns the plugin as it was installed or built, relative to this program.
fs::path FindPlugin() {
  const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
  const fs::path installed = here / DELTABLOOM_PLUGIN_FROM_BIN / kPlugin;
  const fs::path built = here / "../../engines/rocksdb" / kPlugin;
  for (const fs::path& path : {installed, built}) {
    std::error_code error;
    fs::path found = fs::canonical(path, error);
    if (!error) return found;
  }
  throw std::runtime_error(installed.lexically_normal().string() +
                           " does not exist: install the plugin for this "
                           "RocksDB, or build Deltabloom "
                           "with it");
}

// Returns a path of the file that LD_PRELOAD accepts. The loader splits the
// value at blanks and colons, so a path that contains one is replaced by that
// of an open file, which `program` inherits.
std::string Preloadable(const fs::path& path) {
  if (path.string().find_first_of(" :\t\n") == std::string::npos) {
    return path.string();
  }
  const int file = open(path.c_str(), O_RDONLY);
  if (file < 0) throw std::runtime_error(path.string() + ": cannot be opened");
  return "/proc/self/fd/" + std::to_string(file);
}

RunFn AddRunOptions(CLI::App* app) {
  app->prefix_command()->callback([app] {
    const std::vector<std::string> words = app->remaining();
    if (!words.empty() && words[0].substr(0, 1) == "-") {
      throw CLI::ExtrasError(std::vector{words[0]});
    }
  });
  return [app](Console* console) {
    const fs::path plugin = FindPlugin();
    std::vector<std::string> words = app->remaining();
    if (words.empty()) {
      console->Add("plugin", plugin.string());
      console->Line(plugin.string());
      return kSuccess;
    }
    std::string preload = Preloadable(plugin);
    const char* const before = std::getenv("LD_PRELOAD");
    if (before != nullptr && *before != '\0') {
      preload += std::string(":") + before;
    }
    setenv("LD_PRELOAD", preload.c_str(), 1);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    std::signal(SIGXFSZ, SIG_DFL);  // which main() ignores
    execvp(arguments[0], arguments.data());
    throw std::runtime_error(words.front() + ": " + std::strerror(errno));
  };
}

}  // namespace

Command RunCommand() {
  Command command = {"run", "Run a program with the RocksDB plugin preloaded",
                     AddRunOptions};
  command.manual.description = R"(
deltabloom run [OPTIONS] [--] [PROGRAM [ARGUMENTS]] runs PROGRAM in place of
this command, with the plugin in LD_PRELOAD, so that a program that loads the
shared RocksDB takes Deltabloom's policies from OPTIONS files. If the plugin is
not there, PROGRAM does not run. If PROGRAM runs with another version of
RocksDB, or with one that is linked into it, the plugin says so on standard
error.

Without PROGRAM, prints the path of the plugin; with --json, as "plugin".)";
  command.manual.examples = {
      {"deltabloom run db_bench --options_file=deltabloom.options",
       "stock db_bench with the filters that its OPTIONS file names"},
      {"deltabloom run ldb --db=DIR --try_load_options compact",
       "rewrite all tables with the policy of the database"}};
  command.manual.success = "that of PROGRAM; or the path was printed";
  command.manual.failure = "the plugin or PROGRAM was not found";
  return command;
}

}  // namespace deltabloom::tools
