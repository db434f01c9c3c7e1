// The command deltabloom-shared: filters in Redis, from a shell.
#include <string>

#include "shared_filters/command/commands.h"
#include "shared_filters/command/options.h"
#include "tools/program/program.h"

int main(int argc, char** argv) {
  using namespace deltabloom::tools;
  About about = {"deltabloom-shared",
                 "Fill, query and rebuild filters in Redis", ""};
  about.description =
      R"(
Bloom filters in Redis that programs in C++, Java, Go and PHP fill and ask
together. A filter is named by the key of its bitmap. For a filter of 'create' or
'import' the name is enough; a bitmap that only other programs know is adopted by
each command (--adopt, --scheme, --bits, --probes).

The password is read from the environment variable )" +
      std::string(kPasswordVariable) +
      R"( or from --password-file, never from the command line, which other users
of the machine can read.

In the folder shared_filters, docs/guide.md says which scheme to take,
docs/operations.md what a restart of Redis can lose, and docs/format.md defines
every bit.)";
  return Main(about,
              {CreateCommand(), AddCommand(), CheckCommand(), RebuildCommand(),
               InfoCommand(), ConfirmCommand(), MoveCommand(), ExportCommand(),
               ImportCommand(), DeleteCommand()},
              argc, argv);
}
