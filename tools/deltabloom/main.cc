// The command deltabloom.
#include <vector>

#include "tools/deltabloom/commands.h"
#include "tools/program/program.h"

namespace deltabloom::tools {
namespace {

std::vector<Command> Commands() {
  return {InspectCommand(),  EstimateCommand(),
          VerifyCommand(),   DoctorCommand(),
#ifdef DELTABLOOM_TOOLS_ROCKSDB
          RefilterCommand(), CheckCommand(),
#else
          {"refilter",
           "Replace the filters of a database by better ones",
           nullptr,
           "RocksDB (librocksdb-dev)"},
          {"check",
           "Say whether the text of a filter policy is right",
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

}  // namespace
}  // namespace deltabloom::tools

int main(int argc, char** argv) {
  using namespace deltabloom::tools;
  return Main({"deltabloom",
               "Inspect, verify, plan and replace filters of databases", ""},
              Commands(), argc, argv);
}
