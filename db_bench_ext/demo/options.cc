#include "db_bench_ext/demo/options.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <filesystem>
#include <initializer_list>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "db_bench_ext/demo/errors.h"

namespace deltabloom::demo {

namespace {

// Accepts `text` as a number from `low` to `high`, whole if T is.
template <typename T>
void ParseNumber(const std::string& option, const std::string& text, T low,
                 T high, const char* range, T* value) {
  T parsed{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, parsed);
  // Written so that NaN fails.
  if (error != std::errc() || stop != end ||
      !(parsed >= low && parsed <= high)) {
    throw UsageError(option + ": '" + text + "' is not " + range);
  }
  *value = parsed;
}

// Numbers are taken as text, so that all of them are refused in the same words.
void Declare(CLI::App* app, std::map<std::string, std::string>* numbers,
             Options* options) {
  const auto number = [&](const char* name, const char* description) {
    return app->add_option(name, (*numbers)[name], description)->type_name("N");
  };
  number("--keys", "Keys to insert, 1000 to 100000000 [2000000]");
  number("--bits-per-key",
         "Filter size that each policy is asked for, 1 to 100 [10]")
      ->type_name("BITS");
  app->add_option("--layout", options->layouts,
                  "Deltabloom's layouts to run, separated by commas [classic]")
      ->type_name("LAYOUT")
      ->delimiter(',')
      ->allow_extra_args(false);
  number("--lookups",
         "Lookups of absent and of present keys per database\n"
         "[30000, fewer where the disk is slow]");
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
  const auto given = [&](const char* name) { return app.count(name) > 0; };
  if (given("--keys")) {
    ParseNumber<uint64_t>("--keys", numbers.at("--keys"), 1000, 100'000'000,
                          "a whole number from 1000 to 100000000",
                          &options->keys);
  }
  if (given("--bits-per-key")) {
    ParseNumber("--bits-per-key", numbers.at("--bits-per-key"), 1.0, 100.0,
                "a number from 1 to 100", &options->bits_per_key);
  }
  if (given("--seed")) {
    ParseNumber<uint64_t>(
        "--seed", numbers.at("--seed"), 0, std::numeric_limits<uint64_t>::max(),
        "a whole number from 0 to 18446744073709551615", &options->seed);
  }
  if (given("--lookups")) {
    ParseNumber<uint64_t>(
        "--lookups", numbers.at("--lookups"), 100, 1'000'000'000,
        "a whole number from 100 to 1000000000", &options->lookups);
  }
}

void CheckNames(const CLI::App& app, const Options& options) {
  for (const auto& [name, text] : {std::pair{"--db", options.db},
                                   {"--json", options.json},
                                   {"--plot", options.plot}}) {
    if (app.count(name) > 0 && text.empty()) {
      throw UsageError(std::string(name) + ": the name is empty");
    }
  }
  std::set<std::string> layouts;
  for (const std::string& layout : options.layouts) {
    if (!layouts.insert(layout).second) {
      throw UsageError("--layout: '" + layout + "' is named twice");
    }
  }
  if (!options.plot.empty() &&
      std::filesystem::path(options.plot).extension() != ".png") {
    throw UsageError("--plot: " + options.plot + " does not end in .png");
  }
}

}  // namespace

bool ParseOptions(int argc, char** argv, Options* options, std::string* help) {
  CLI::App app(
      "Loads the same keys into a RocksDB database per filter and shows what "
      "each filter saves:\ndata-block reads per lookup, false positives, time. "
      "Takes at most about two minutes.");
  app.name("script/demo");
  std::map<std::string, std::string> numbers;
  Declare(&app, &numbers, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    *help = app.help() +
            "\nExit code: 0, 1 if a present key was missed or the run failed, "
            "2 for bad usage.\n";
    return false;
  } catch (const CLI::ExtrasError&) {
    throw UsageError("unknown option or argument: " + app.remaining().front());
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
  ParseNumbers(numbers, app, options);
  CheckNames(app, *options);
  return true;
}

}  // namespace deltabloom::demo
