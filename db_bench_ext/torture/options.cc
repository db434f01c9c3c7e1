#include "db_bench_ext/torture/options.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <limits>
#include <map>
#include <random>

#include "db_bench_ext/common/program.h"

namespace deltabloom::torture {

bool ParseOptions(int argc, char** argv, Options* options) {
  CLI::App app(
      "Kills a RocksDB with Deltabloom's filters while it is written to, takes "
      "its power away,\nflips bits of its filters and indexes, and looks for "
      "every acknowledged write afterwards:\nby Get, MultiGet and iterators, "
      "against a model of what may and what must be there.\nA cycle, from an "
      "opening to a check, takes about two seconds.");
  app.name("script/torture");
  app.footer(
      "Counts may end in k or M: 1k. The databases are 20 cycles old at most.\n"
      "Exit code: 0, 1 if a write was lost or anything else went wrong, 2 for "
      "bad usage.");
  // Numbers are taken as text, so that all of them are refused in the same
  // words.
  std::map<std::string, std::string> numbers;
  const auto number = [&](const char* name, const char* description) {
    return app.add_option(name, numbers[name], description)->type_name("N");
  };
  number("--cycles", "Cycles to run [100]");
  number("--first",
         "Number of the first cycle: begins where a failure was [0]");
  number("--seed", "What is drawn at random [another at every run, printed]");
  number("--timeout", "Seconds after which a process is taken to hang [300]");
  app.add_option("--keep", options->keep,
                 "Work in DIR, which must be new or empty, and keep it\n"
                 "[a temporary folder under $TMPDIR, kept after a failure]")
      ->type_name("DIR");
  app.add_option("--json", options->json,
                 "Write the counts as JSON after every cycle; those that FILE\n"
                 "has at the beginning are added")
      ->type_name("FILE");
  app.add_flag("--verbose", options->verbose, "Print what each cycle does");
  if (!bench::ParseCommandLine({argv + 1, argv + argc}, &app)) return false;
  const auto count = [&](const char* name, uint64_t least, uint64_t most,
                         uint64_t* value) {
    if (app.count(name) == 0) return;
    *value = bench::ParseCount(name, numbers.at(name), least, most);
  };
  options->seed = std::random_device()();
  count("--cycles", 1, 1'000'000, &options->cycles);
  count("--first", 0, 1'000'000, &options->first);
  count("--seed", 0, std::numeric_limits<uint64_t>::max(), &options->seed);
  count("--timeout", 1, 1'000'000, &options->timeout_seconds);
  for (const char* const name : {"--keep", "--json"}) {
    const std::string& text =
        name == std::string("--keep") ? options->keep : options->json;
    if (app.count(name) > 0 && text.empty()) {
      throw bench::UsageError(std::string(name) + ": the name is empty");
    }
  }
  return true;
}

}  // namespace deltabloom::torture
