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
constexpr char kReplaceBloom[] = "libdeltabloom_replace_bloom.so";

// Returns the library as it was installed or built, relative to this program.
fs::path FindLibrary(const char* name) {
  const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
  const fs::path installed = here / DELTABLOOM_PLUGIN_FROM_BIN / name;
  const fs::path built = here / "../../engines/rocksdb" / name;
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
  // A literal would be ambiguous in C++20, in which arrays can be constructed
  // from a number and CLI11 takes them for variables.
  const std::string about = "In place of RocksDB's and LevelDB's Bloom filters";
  auto* const replace = app->add_flag("--replace-bloom", about);
  app->prefix_command()->callback([app] {
    const std::vector<std::string> words = app->remaining();
    if (!words.empty() && words[0].substr(0, 1) == "-") {
      throw CLI::ExtrasError(std::vector{words[0]});
    }
  });
  return [app, replace](Console* console) {
    const fs::path plugin =
        FindLibrary(replace->count() > 0 ? kReplaceBloom : kPlugin);
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
    // PROGRAM will be this process: it says at its end if it used no filter.
    setenv("DELTABLOOM_RUN", std::to_string(getpid()).c_str(), 1);
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
error. So it does at the end of a PROGRAM that made and read no filter of
Deltabloom.

With --replace-bloom, PROGRAM gets Deltabloom's policy, deltabloom:BITS, where
it asks a shared RocksDB for a Bloom filter of BITS bits per key, or for a
Ribbon filter, of the bits that this has; and where it asks a shared LevelDB,
Deltabloom's faster policy with the same filters. OPTIONS files of RocksDB then
name deltabloom: a later PROGRAM that takes its options from them needs the
plugin, or has no filters.

Without PROGRAM, prints the path of the library for LD_PRELOAD; with --json, as
"plugin".)";
  command.manual.examples = {
      {"deltabloom run db_bench --options_file=deltabloom.options",
       "stock db_bench with the filters that its OPTIONS file names"},
      {"deltabloom run ldb --db=DIR --try_load_options compact",
       "rewrite all tables with the policy of the database"},
      {"deltabloom run --replace-bloom db_bench --bloom_bits=10",
       "deltabloom:10 in a program that asks for RocksDB's Bloom filter"}};
  command.manual.success = "that of PROGRAM; or the path was printed";
  command.manual.failure = "the plugin or PROGRAM was not found";
  return command;
}

}  // namespace deltabloom::tools
