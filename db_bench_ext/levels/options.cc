#include "db_bench_ext/levels/options.h"

#include <CLI/CLI.hpp>
#include <limits>
#include <map>
#include <utility>

#include "db_bench_ext/common/program.h"

namespace deltabloom::levels {
namespace {

constexpr uint64_t kKeys = 2'222'200;
constexpr uint64_t kQuickKeys = 111'110;
constexpr uint64_t kQuickLookups = 200'000;

// Everything is taken as text, so that it is refused in the same words.
using Texts = std::map<std::string, std::string>;

std::string ContenderNames() {
  std::vector<std::string> names;
  for (const Contender& contender : Contenders()) {
    names.push_back(contender.name);
  }
  return bench::JoinList(names);
}

void Declare(CLI::App* app, Texts* texts, Options* options) {
  const auto text = [&](const char* name, const char* type,
                        const std::string& description) {
    app->add_option(name, (*texts)[name], description)->type_name(type);
  };
  text("--trees", "LIST",
       "settled: each level holds its share exactly. insert, overwrite,\n"
       "delete, mixed: grown by RocksDB from such writes [settled]");
  text("--runs", "LIST",
       "Sorted runs, 1 to 7; where a tree grows, levels, 3 to 7 [5]");
  text("--size-ratio", "LIST", "Of a level to the one above, 2 to 100 [10]");
  text("--keys", "N", "Keys, or writes where a tree grows [2222200]");
  text("--bits-per-key", "BITS",
       "Filter bytes that every filter gets, 1 to 50 bits per key [10]");
  text("--filters", "LIST",
       "Of none, rocksdb-bloom, rocksdb-ribbon, deltabloom-local,\n"
       "deltabloom-compact, deltabloom-auto; each but none also with -by-hand\n"
       "behind it, Deltabloom's with -levels [all]");
  text("--lookups", "N",
       "Of absent keys; a fourth as many of absent and present ones in turn\n"
       "[2000000]");
  text("--seed", "N", "Choice of the keys [1]");
  app->add_flag("--dynamic-levels", "Let trees grow with dynamic level sizes");
  app->add_option("--db", options->db,
                  "Keep the databases in DIR, which must be new or empty\n"
                  "[a temporary folder under $TMPDIR; each is removed when\n"
                  "it has been measured]")
      ->type_name("DIR");
  app->add_option("--json", options->json, "Write everything as JSON")
      ->type_name("FILE");
  app->add_option("--csv", options->csv, "Write a line per database")
      ->type_name("FILE");
  app->add_flag("--quick", options->quick,
                "A twentieth of the keys, a tenth of the lookups");
}

std::vector<Growth> ParseGrowths(const std::string& list) {
  std::vector<Growth> growths;
  for (const std::string& name : bench::SplitList(list)) {
    Growth growth{};
    if (!ParseGrowth(name, &growth)) {
      throw bench::UsageError(
          "--trees: '" + name +
          "' is not one of settled, insert, overwrite, delete, mixed");
    }
    growths.push_back(growth);
  }
  if (growths.empty()) throw bench::UsageError("--trees: an empty list");
  return growths;
}

std::vector<Contender> ParseContenders(const std::string& list) {
  std::vector<Contender> chosen;
  for (const std::string& name : bench::SplitList(list)) {
    const size_t before = chosen.size();
    for (const Contender& contender : Contenders()) {
      if (contender.name == name) chosen.push_back(contender);
    }
    if (chosen.size() == before) {
      throw bench::UsageError("--filters: '" + name + "' is not one of " +
                              ContenderNames());
    }
  }
  if (chosen.empty()) throw bench::UsageError("--filters: an empty list");
  return chosen;
}

void ParseTrees(const Texts& texts, const CLI::App& app, Options* options) {
  const auto given = [&](const char* name, const char* otherwise) {
    return app.count(name) > 0 ? texts.at(name) : std::string(otherwise);
  };
  TreePlan plan;
  plan.seed = options->seed;
  plan.dynamic_level_bytes = app.count("--dynamic-levels") > 0;
  plan.keys = options->quick ? kQuickKeys : kKeys;
  if (app.count("--keys") > 0) {
    plan.keys =
        bench::ParseCount("--keys", texts.at("--keys"), 1000, 1'000'000'000);
  }
  std::vector<unsigned> runs, ratios;
  bench::ParseCounts("--runs", given("--runs", "5"), 1, 7, &runs);
  bench::ParseCounts("--size-ratio", given("--size-ratio", "10"), 2, 100,
                     &ratios);
  for (const Growth growth : ParseGrowths(given("--trees", "settled"))) {
    for (const unsigned ratio : ratios) {
      for (const unsigned number : runs) {
        plan.growth = growth;
        plan.runs = number;
        plan.size_ratio = ratio;
        if (growth == Growth::kSettled) {
          SettledRuns(plan);  // refuses too few keys
        } else if (number < 3) {
          throw bench::UsageError("--runs: a tree that grows has 3 or more; " +
                                  std::to_string(number) +
                                  " only goes with --trees settled");
        }
        options->trees.push_back(plan);
      }
    }
  }
}

}  // namespace

bool ParseOptions(int argc, char** argv, Options* options) {
  CLI::App app(
      "Measures what filters save on trees of several levels, all with the "
      "same filter bytes:\ndata blocks asked for per lookup, beside what the "
      "rates of the filters predict.\nBits are the same everywhere; or, by a "
      "policy that delegates per level, as is best for\nthe tree "
      "(-by-hand); or as the policy spreads them itself (-levels).");
  app.name("script/levels");
  app.footer(
      "Counts may end in k or M: 100k, 10M. Lists are separated by commas.\n"
      "Exit code: 0, 1 if the run failed, 2 for bad usage.");
  Texts texts;
  Declare(&app, &texts, options);
  if (!bench::ParseCommandLine({argv + 1, argv + argc}, &app)) return false;
  if (options->quick) options->lookups = kQuickLookups;
  const auto count = [&](const char* name, uint64_t least, uint64_t most,
                         uint64_t* value) {
    if (app.count(name) == 0) return;
    *value = bench::ParseCount(name, texts.at(name), least, most);
  };
  count("--seed", 0, std::numeric_limits<uint64_t>::max(), &options->seed);
  count("--lookups", 1000, 1'000'000'000, &options->lookups);
  if (app.count("--bits-per-key") > 0) {
    options->bits_per_key =
        bench::ParseNumber("--bits-per-key", texts.at("--bits-per-key"), 1, 50);
  }
  options->contenders = app.count("--filters") > 0
                            ? ParseContenders(texts.at("--filters"))
                            : Contenders();
  for (const auto& [name, text] : {std::pair{"--db", options->db},
                                   {"--json", options->json},
                                   {"--csv", options->csv}}) {
    if (app.count(name) > 0 && text.empty()) {
      throw bench::UsageError(std::string(name) + ": the name is empty");
    }
  }
  ParseTrees(texts, app, options);
  return true;
}

}  // namespace deltabloom::levels
