// study: the measurements that the design of a filter rests on. Prints tables;
// --json writes all rows, which plots.py draws.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "db_bench_ext/common/program.h"
#include "db_bench_ext/common/results.h"
#include "db_bench_ext/study/studies.h"

namespace deltabloom::study {
namespace {

struct Settings {
  std::string which = "all";
  std::string keys_file;
  uint64_t seed = 1;
  uint64_t rate_keys = 100000;
  uint64_t max_keys = 10000000;
  uint64_t queries = 1000000;
  int repetitions = 5;
  bool quick = false;
  bench::ResultFiles files;
};

std::string Cell(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_number_float()) return value.dump();
  return bench::Significant(value.get<double>(), 4);
}

void PrintTable(const Settings& settings, const std::string& title,
                const Json& rows) {
  bench::ShowProgress("");
  if (settings.files.StdoutTaken()) return;
  if (rows.empty()) {
    bench::Print("\n" + title + "\n  (no keys to study)\n");
    return;
  }
  std::vector<std::vector<std::string>> table(1);
  for (const auto& item : rows[0].items()) table[0].push_back(item.key());
  for (const auto& row : rows) {
    table.emplace_back();
    for (const auto& value : row) table.back().push_back(Cell(value));
  }
  bench::Print("\n" + title + "\n" + bench::TextTable(table));
}

// The user's keys, or the published shapes and the real ones; a tenth of them
// with --quick.
std::vector<KeySet> HashSets(const Settings& settings) {
  if (!settings.keys_file.empty()) return {ReadKeys(settings.keys_file)};
  const size_t divisor = settings.quick ? 10 : 1;
  const size_t absent = 1000000 / divisor;
  std::vector<KeySet> sets = {
      RandomStrings(1000000 / divisor, absent, settings.seed),
      VideoIds(40000 / divisor, absent, settings.seed),
      AppAccounts(45402 / divisor, absent, settings.seed)};
  for (KeySet& real : RealKeys()) {
    for (auto* keys : {&real.keys, &real.absent}) {
      keys->resize((keys->size() + divisor - 1) / divisor);
    }
    sets.push_back(std::move(real));
  }
  return sets;
}

Json RunStudies(const Settings& settings) {
  Json result = {{"seed", settings.seed}, {"quick", settings.quick}};
  const auto add = [&](const char* name, const std::string& title,
                       const Json& rows) {
    result[name] = rows;
    PrintTable(settings, title, rows);
  };
  const std::string& which = settings.which;
  const bool own_keys = !settings.keys_file.empty();
  if (which == "all" || which == "hashes") {
    bench::ShowProgress("reading keys");
    const std::vector<KeySet> sets = HashSets(settings);
    Json keys = Json::array();
    for (const KeySet& set : sets) {
      keys.push_back({{"dataset", set.name},
                      {"origin", set.origin},
                      {"keys", set.keys.size()},
                      {"key_bytes", set.KeyBytes()},
                      {"absent_keys", set.absent.size()}});
    }
    for (const StringHash& hash : StringHashes()) {
      result["hash_sources"].push_back(
          {{"hash", hash.name}, {"source", hash.source}});
    }
    add("hash_keys", "Keys", keys);
    add("hashes", "Hashes",
        StudyHashes(sets, settings.repetitions, settings.quick ? 200 : 2000));
  }
  // Rates do not depend on the kind of keys.
  if (which == "rates" || (which == "all" && !own_keys)) {
    add("rates", "Rates",
        StudyRates(settings.rate_keys, settings.queries, settings.seed));
    add("growth", "Growth at 10 bits per key",
        StudyGrowth(settings.max_keys, settings.queries, settings.seed));
  }
  // These change with the format only, so they run when they are named.
  if (which == "sizes") {
    add("sizes", "Sizes of classic filters",
        StudySizes(settings.max_keys, settings.queries, settings.seed));
  }
  if (which == "classic") {
    add("classic", "Excess of classic filters",
        StudyClassicRates(settings.max_keys, settings.seed));
  }
  return result;
}

// Returns false after printing the help.
bool ParseSettings(int argc, char** argv, Settings* settings) {
  CLI::App app{
      "Measures what the design of a filter rests on: hashes and\n"
      "false-positive rates. Without --keys on generated and real keys."};
  app.name("script/study");
  const auto count = [&app](const char* name, auto* value, uint64_t least,
                            uint64_t most, const char* help) {
    app.add_option(name, *value, help)
        ->check(CLI::Range(least, most))
        ->capture_default_str();
  };
  app.add_option("study", settings->which,
                 "What to run; all runs rates and hashes, in about a minute "
                 "of CPU time; sizes takes five minutes, classic half an hour")
      ->check(CLI::IsMember({"all", "rates", "hashes", "sizes", "classic"}))
      ->capture_default_str();
  app.add_option("--keys", settings->keys_file,
                 "Run hashes on the keys of this file, one per line");
  settings->files.DeclareJson(&app);
  app.add_option("--seed", settings->seed, "Seed of everything drawn at random")
      ->capture_default_str();
  count("--rate-keys", &settings->rate_keys, 1000, 100000000,
        "Keys per filter in the study of rates");
  count("--max-keys", &settings->max_keys, 1000, 1000000000,
        "Largest filter in the studies of growth, sizes and classic");
  count("--queries", &settings->queries, 1000, 1000000000,
        "Absent keys looked up per filter");
  count("--repetitions", &settings->repetitions, 1, 1000,
        "Timings of each hash; the median counts");
  app.add_flag("--quick", settings->quick,
               "A tenth of the keys and queries, for a first look");
  if (!bench::ParseCommandLine({argv + 1, argv + argc}, &app)) return false;
  if (!settings->keys_file.empty() && settings->which != "all" &&
      settings->which != "hashes") {
    throw bench::UsageError("--keys: the study of " + settings->which +
                            " does not depend on the kind of keys; leave it "
                            "out, or run all or hashes");
  }
  if (settings->quick) {
    settings->rate_keys = std::min<uint64_t>(settings->rate_keys, 10000);
    settings->max_keys = std::min<uint64_t>(settings->max_keys, 100000);
    settings->queries = std::min<uint64_t>(settings->queries, 100000);
    settings->repetitions = std::min(settings->repetitions, 3);
  }
  settings->files.Claim();
  return true;
}

}  // namespace
}  // namespace deltabloom::study

int main(int argc, char** argv) {
  using namespace deltabloom::study;
  return deltabloom::bench::RunProgram("study", [argc, argv] {
    Settings settings;
    if (!ParseSettings(argc, argv, &settings)) return 0;
    settings.files.Write(RunStudies(settings));
    return 0;
  });
}
