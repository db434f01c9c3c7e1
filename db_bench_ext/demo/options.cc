#include "db_bench_ext/demo/options.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <filesystem>
#include <initializer_list>
#include <limits>
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

}  // namespace

bool ParseOptions(int argc, char** argv, Options* options, std::string* help) {
  CLI::App app(
      "Loads the same keys into a RocksDB database per filter and shows what "
      "each filter saves:\ndata-block reads per lookup, false positives, time. "
      "Takes at most about two minutes.");
  app.name("script/demo");
  std::string keys, bits_per_key, seed, lookups;
  app.add_option("--keys", keys, "Keys to insert, 1000 to 100000000 [2000000]")
      ->type_name("N");
  app.add_option("--bits-per-key", bits_per_key,
                 "Filter size that each policy is asked for, 1 to 100 [10]")
      ->type_name("BITS");
  app.add_option("--layout", options->layouts,
                 "Deltabloom's layouts to run, separated by commas [classic]")
      ->type_name("LAYOUT")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--lookups", lookups,
                 "Lookups of absent and of present keys per database\n"
                 "[30000, fewer where the disk is slow]")
      ->type_name("N");
  app.add_option("--seed", seed, "Choice and order of the keys [1]")
      ->type_name("N");
  CLI::Option* const db =
      app.add_option("--db", options->db,
                     "Keep the databases in DIR, which must be new or empty\n"
                     "[a temporary folder under $TMPDIR, removed at the end]")
          ->type_name("DIR");
  CLI::Option* const json =
      app.add_option("--json", options->json, "Write the figures as JSON")
          ->type_name("FILE");
  CLI::Option* const plot =
      app.add_option("--plot", options->plot, "Draw the figures as PNG")
          ->type_name("FILE.png");

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

  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  if (app.count("--keys") > 0) {
    ParseNumber<uint64_t>("--keys", keys, 1000, 100'000'000,
                          "a whole number from 1000 to 100000000",
                          &options->keys);
  }
  if (app.count("--bits-per-key") > 0) {
    ParseNumber("--bits-per-key", bits_per_key, 1.0, 100.0,
                "a number from 1 to 100", &options->bits_per_key);
  }
  if (app.count("--seed") > 0) {
    ParseNumber<uint64_t>("--seed", seed, 0, kMax,
                          "a whole number from 0 to 18446744073709551615",
                          &options->seed);
  }
  if (app.count("--lookups") > 0) {
    ParseNumber<uint64_t>("--lookups", lookups, 100, 1'000'000'000,
                          "a whole number from 100 to 1000000000",
                          &options->lookups);
  }
  for (const auto& [option, text] : {std::pair{db, &options->db},
                                     {json, &options->json},
                                     {plot, &options->plot}}) {
    if (option->count() > 0 && text->empty()) {
      throw UsageError(option->get_name() + ": the name is empty");
    }
  }
  std::set<std::string> layouts;
  for (const std::string& layout : options->layouts) {
    if (!layouts.insert(layout).second) {
      throw UsageError("--layout: '" + layout + "' is named twice");
    }
  }
  if (plot->count() > 0 &&
      std::filesystem::path(options->plot).extension() != ".png") {
    throw UsageError("--plot: " + options->plot + " does not end in .png");
  }
  return true;
}

}  // namespace deltabloom::demo
