#include "db_bench_ext/demo/options.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "db_bench_ext/common/program.h"

namespace deltabloom::demo {

namespace {

// Numbers are taken as text, so that all of them are refused in the same words.
void Declare(CLI::App* app, std::map<std::string, std::string>* numbers,
             Options* options) {
  const auto number = [&](const char* name, const char* description) {
    return app->add_option(name, (*numbers)[name], description)->type_name("N");
  };
  number("--keys", "Keys to insert, 1000 to 100000000 [1000000]");
  number("--bits-per-key",
         "Filter size that each policy is asked for, 1 to 100 [10]")
      ->type_name("BITS");
  app->add_option(
         "--layout", options->layouts,
         "Deltabloom's layouts to run, separated by commas; LAYOUT:levels:\n"
         "with allocation=levels [classic,local,auto,auto:levels]")
      ->type_name("LAYOUT")
      ->delimiter(',')
      ->allow_extra_args(false);
  number("--lookups",
         "Lookups of absent keys per database, and a fifth as many of\n"
         "present ones [40000, fewer where the disk is slow]");
  number("--seed", "Choice and order of the keys [1]");
  app->add_option("--db", options->db,
                  "Keep the databases in DIR, which must be new or empty\n"
                  "[a temporary folder under $TMPDIR, removed at the end]")
      ->type_name("DIR");
  app->add_option("--json", options->json, "Write the figures as JSON")
      ->type_name("FILE");
  app->add_option("--plot", options->plot, "Draw the figures as PNG")
      ->type_name("FILE.png");
}

void ParseNumbers(const std::map<std::string, std::string>& numbers,
                  const CLI::App& app, Options* options) {
  const auto count = [&](const char* name, uint64_t least, uint64_t most,
                         uint64_t* value) {
    if (app.count(name) == 0) return;
    *value = bench::ParseCount(name, numbers.at(name), least, most);
  };
  count("--keys", 1000, 100'000'000, &options->keys);
  count("--seed", 0, std::numeric_limits<uint64_t>::max(), &options->seed);
  count("--lookups", 100, 1'000'000'000, &options->lookups);
  if (app.count("--bits-per-key") > 0) {
    options->bits_per_key = bench::ParseNumber(
        "--bits-per-key", numbers.at("--bits-per-key"), 1, 100);
  }
}

void CheckNames(const CLI::App& app, const Options& options) {
  for (const auto& [name, text] : {std::pair{"--db", options.db},
                                   {"--json", options.json},
                                   {"--plot", options.plot}}) {
    if (app.count(name) > 0 && text.empty()) {
      throw bench::UsageError(std::string(name) + ": the name is empty");
    }
  }
  std::set<std::string> layouts;
  for (const std::string& layout : options.layouts) {
    if (!layouts.insert(layout).second) {
      throw bench::UsageError("--layout: '" + layout + "' is named twice");
    }
  }
  if (!options.plot.empty() &&
      std::filesystem::path(options.plot).extension() != ".png") {
    throw bench::UsageError("--plot: " + options.plot +
                            " does not end in .png");
  }
}

}  // namespace

bool ParseOptions(int argc, char** argv, Options* options) {
  CLI::App app(
      "Loads the same keys into a RocksDB database per filter and shows what "
      "each filter saves:\ndata-block reads per lookup, false positives, time. "
      "Takes about a minute.");
  app.name("script/demo");
  app.footer(
      "Counts may end in k or M: 100k, 10M.\n"
      "Exit code: 0, 1 if a present key was missed or the run failed, 2 for "
      "bad "
      "usage.");
  std::map<std::string, std::string> numbers;
  Declare(&app, &numbers, options);
  if (!bench::ParseCommandLine({argv + 1, argv + argc}, &app)) return false;
  ParseNumbers(numbers, app, options);
  CheckNames(app, *options);
  return true;
}

}  // namespace deltabloom::demo
