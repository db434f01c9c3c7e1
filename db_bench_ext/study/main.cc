// study: the reasoning behind the filters, measured. Prints tables; --json
// writes everything for report.py.
#include <CLI/CLI.hpp>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "db_bench_ext/common/files.h"
#include "db_bench_ext/common/program.h"
#include "db_bench_ext/common/results.h"
#include "db_bench_ext/study/advice.h"
#include "db_bench_ext/study/string_hashes.h"
#include "db_bench_ext/study/studies.h"

namespace deltabloom::study {
namespace {

using bench::Print;
using bench::ShowProgress;

struct Settings {
  std::string which = "all";
  std::string keys_file;
  std::string json_file;
  uint64_t seed = 1;
  uint64_t rate_keys = 100000;
  uint64_t max_keys = 10000000;
  uint64_t damage_keys = 300;
  uint64_t queries = 1000000;
  int repetitions = 5;
  bool quick = false;
};

// Absent keys of a generated set, and keys whose bits are flipped.
constexpr size_t kAbsent = 1000000;
constexpr size_t kFlippedKeys = 2000;

std::string Cell(const Rows& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_number_float()) return value.dump();
  return bench::Significant(value.get<double>(), 4);
}

// Takes the progress away first.
void PrintTable(const std::string& title, const Rows& rows) {
  ShowProgress("");
  if (rows.empty()) {
    Print("\n" + title + "\n  (no keys to study)\n");
    return;
  }
  std::vector<std::string> header;
  for (const auto& item : rows[0].items()) header.push_back(item.key());
  bench::TextTable table(std::move(header));
  for (const auto& row : rows) {
    std::vector<std::string> cells;
    for (const auto& value : row) cells.push_back(Cell(value));
    table.Add(std::move(cells));
  }
  Print("\n" + title + "\n" + table.Text());
}

Rows Origins(const std::vector<KeySet>& sets) {
  Rows rows = Rows::array();
  for (const KeySet& set : sets) {
    rows.push_back({{"dataset", set.name},
                    {"origin", set.origin},
                    {"keys", set.keys.size()},
                    {"key_bytes", set.KeyBytes()},
                    {"absent_keys", set.absent.size()}});
  }
  return rows;
}

Rows HashSources() {
  Rows rows = Rows::array();
  for (const StringHash& hash : StringHashes()) {
    rows.push_back({{"hash", hash.name}, {"source", hash.source}});
  }
  return rows;
}

// --quick takes a tenth of everything.
size_t Share(const Settings& settings, size_t count) {
  return settings.quick ? (count + 9) / 10 : count;
}

KeySet Thinned(const Settings& settings, KeySet set) {
  for (auto* keys : {&set.keys, &set.absent}) {
    keys->resize(Share(settings, keys->size()));
  }
  return set;
}

// The user's keys, or the published shapes and the real ones.
std::vector<KeySet> HashSets(const Settings& settings, const KeySet& own) {
  if (!settings.keys_file.empty()) return {own};
  const auto share = [&](size_t count) { return Share(settings, count); };
  return {RandomStrings(share(1000000), share(kAbsent), settings.seed),
          VideoIds(share(40000), share(kAbsent), settings.seed),
          AppAccounts(share(45402), share(kAbsent), settings.seed),
          Thinned(settings, Words()),
          Thinned(settings, FilePaths()),
          Thinned(settings, Urls())};
}

std::vector<KeySet> SpaceSets(const Settings& settings, const KeySet& own) {
  if (!settings.keys_file.empty()) return {own};
  const auto share = [&](size_t count) { return Share(settings, count); };
  return {VideoIds(share(80000), share(kAbsent), settings.seed),
          AppAccounts(share(45402), share(kAbsent), settings.seed),
          Thinned(settings, Words())};
}

Rows RunAll(const Settings& settings, const KeySet& own) {
  const bool all = settings.which == "all";
  Rows result = {{"seed", settings.seed}, {"quick", settings.quick}};
  if (all || settings.which == "hashes") {
    ShowProgress("reading keys");
    const std::vector<KeySet> sets = HashSets(settings, own);
    result["hash_keys"] = Origins(sets);
    result["hash_sources"] = HashSources();
    result["hashes"] = StudyHashes(sets, settings.repetitions,
                                   Share(settings, kFlippedKeys), ShowProgress);
    PrintTable("Keys", result["hash_keys"]);
    PrintTable("Hashes", result["hashes"]);
  }
  if (all || settings.which == "space") {
    const std::vector<KeySet> sets = SpaceSets(settings, own);
    result["space_keys"] = Origins(sets);
    result["space"] = StudySpace(sets, ShowProgress);
    PrintTable("Space", result["space"]);
  }
  // Rates do not depend on whose keys they are.
  if (settings.which == "rates" || (all && settings.keys_file.empty())) {
    result["rates"] = StudyRates(settings.rate_keys, settings.queries,
                                 settings.seed, ShowProgress);
    result["growth"] = StudyGrowth(settings.max_keys, settings.queries,
                                   settings.seed, ShowProgress);
    PrintTable("Rates", result["rates"]);
    PrintTable("Growth at 10 bits per key", result["growth"]);
  }
  // These change with the format only, so they are run when named.
  if (settings.which == "sizes") {
    result["sizes"] = StudySizes(settings.max_keys, settings.queries,
                                 settings.seed, ShowProgress);
    PrintTable("Sizes of classic filters", result["sizes"]);
  }
  if (settings.which == "damage") {
    std::vector<size_t> numbers(settings.damage_keys + 1);
    std::iota(numbers.begin(), numbers.end(), size_t{0});
    result["damage"] = StudyDamage(numbers, settings.seed, ShowProgress);
    PrintTable("Flips and truncations of filters of 0 to " +
                   std::to_string(settings.damage_keys) +
                   " keys that lose a key",
               result["damage"]);
  }
  if (settings.which == "payload_check") {
    result["payload_check"] = StudyPayloadCheck(
        settings.max_keys, settings.seed, settings.repetitions, ShowProgress);
    PrintTable("Cost of payload_check", result["payload_check"]);
  }
  if (settings.which == "classic") {
    result["classic"] =
        StudyClassicRates(settings.max_keys, settings.seed, ShowProgress);
    PrintTable("Excess of classic filters", result["classic"]);
  }
  return result;
}

bool MissedKeys(const Rows& result) {
  for (const auto& row : result.value("space", Rows::array())) {
    if (row["missed_keys"] != 0) return true;
  }
  return false;
}

// The keys of --keys; of none if there is no such option.
KeySet OwnKeys(const Settings& settings) {
  KeySet own;
  if (settings.keys_file.empty()) return own;
  FileSummary summary;
  const std::string error = ReadKeys(settings.keys_file, &own, &summary);
  if (!error.empty()) throw bench::UsageError(error);
  Print(settings.keys_file + ": " + std::to_string(summary.lines) + " lines, " +
        std::to_string(summary.duplicates) + " duplicates dropped, " +
        std::to_string(summary.empty) + " empty, longest " +
        std::to_string(summary.longest) +
        " bytes; every second key is asked for, not added\n");
  return own;
}

int Run(const Settings& settings) {
  const KeySet own = OwnKeys(settings);
  std::optional<bench::OutputFile> json;
  if (!settings.json_file.empty()) json.emplace("--json", settings.json_file);
  const Rows result = RunAll(settings, own);
  if (!settings.keys_file.empty()) {
    Print(Advice(result.value("hashes", Rows::array()),
                 result.value("space", Rows::array())));
  }
  if (json) {
    json->Write([&](std::ostream* out) { *out << result.dump(1) << '\n'; });
    json->Publish();
  }
  if (MissedKeys(result)) {
    throw std::runtime_error("a filter missed a key that was added");
  }
  return 0;
}

// False if help was asked for, which has been printed.
bool ParseSettings(int argc, char** argv, Settings* settings) {
  CLI::App app{
      "Measures what the design of a filter rests on: hashes, false-positive\n"
      "rates, space. Without --keys on generated and real keys."};
  app.name("script/study");
  app.add_option("study", settings->which,
                 "What to run; all runs rates, hashes and space")
      ->check(CLI::IsMember({"all", "rates", "hashes", "space", "sizes",
                             "classic", "damage", "payload_check"}))
      ->capture_default_str();
  app.add_option(
      "--keys", settings->keys_file,
      "Run hashes and space on the keys of this file, one per line;\n"
      "ends in advice for them");
  app.add_option("--json", settings->json_file, "Write all rows to this file");
  app.add_option("--seed", settings->seed, "Seed of everything drawn at random")
      ->capture_default_str();
  app.add_option("--rate-keys", settings->rate_keys,
                 "Keys per filter in the study of rates")
      ->check(CLI::Range(uint64_t{1000}, uint64_t{100000000}))
      ->capture_default_str();
  app.add_option("--max-keys", settings->max_keys,
                 "Largest filter in the studies of growth, sizes, classic and "
                 "payload_check")
      ->check(CLI::Range(uint64_t{1000}, uint64_t{1000000000}))
      ->capture_default_str();
  app.add_option("--damage-keys", settings->damage_keys,
                 "Largest filter in the study of damage")
      ->check(CLI::Range(uint64_t{0}, uint64_t{10000}))
      ->capture_default_str();
  app.add_option("--queries", settings->queries, "Absent keys asked per filter")
      ->check(CLI::Range(uint64_t{1000}, uint64_t{1000000000}))
      ->capture_default_str();
  app.add_option("--repetitions", settings->repetitions,
                 "Timings of each hash; the median counts")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_flag("--quick", settings->quick,
               "A tenth of the keys and queries, for a first look");
  if (!bench::ParseCommandLine({argv + 1, argv + argc}, &app)) return false;
  const std::string& which = settings->which;
  if (!settings->keys_file.empty() && which != "all" && which != "hashes" &&
      which != "space") {
    throw bench::UsageError(
        "--keys: the study of " + which +
        " does not depend on whose keys they are; leave it out, or run all, "
        "hashes or space");
  }
  if (settings->quick) {
    settings->rate_keys = std::min<uint64_t>(settings->rate_keys, 10000);
    settings->max_keys = std::min<uint64_t>(settings->max_keys, 100000);
    settings->damage_keys = std::min<uint64_t>(settings->damage_keys, 30);
    settings->queries = std::min<uint64_t>(settings->queries, 100000);
    settings->repetitions = std::min(settings->repetitions, 3);
  }
  return true;
}

}  // namespace
}  // namespace deltabloom::study

int main(int argc, char** argv) {
  return deltabloom::bench::RunProgram("study", [argc, argv] {
    deltabloom::study::Settings settings;
    if (!deltabloom::study::ParseSettings(argc, argv, &settings)) return 0;
    return deltabloom::study::Run(settings);
  });
}
