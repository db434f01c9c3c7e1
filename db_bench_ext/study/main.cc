// study: the reasoning behind the filters, measured. Prints tables; --json
// writes everything for report.py.
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>

#include "db_bench_ext/study/string_hashes.h"
#include "db_bench_ext/study/studies.h"
#include "db_bench_ext/write_file.h"

namespace deltabloom::study {
namespace {

struct Settings {
  std::string which = "all";
  std::string keys_file;
  std::string json_file;
  uint64_t seed = 1;
  uint64_t rate_keys = 100000;
  uint64_t max_keys = 10000000;
  uint64_t queries = 1000000;
  int repetitions = 5;
  bool quick = false;
};

volatile std::sig_atomic_t interrupted = 0;

struct Interrupted {};

void ShowProgress(const std::string& doing) {
  if (interrupted != 0) throw Interrupted();
  if (isatty(STDERR_FILENO)) {
    std::fprintf(stderr, "\r\033[K%s", doing.c_str());
    std::fflush(stderr);
  }
}

void EndProgress() {
  if (isatty(STDERR_FILENO)) std::fprintf(stderr, "\r\033[K");
}

std::string Cell(const Rows& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_number_float()) return value.dump();
  char text[32];
  std::snprintf(text, sizeof(text), "%.4g", value.get<double>());
  return text;
}

// One line per row, columns as wide as they need.
void PrintTable(const std::string& title, const Rows& rows) {
  std::printf("\n%s\n", title.c_str());
  if (rows.empty()) {
    std::printf("  (no keys to study)\n");
    return;
  }
  std::vector<std::vector<std::string>> cells(1);
  for (const auto& item : rows[0].items()) cells[0].push_back(item.key());
  for (const auto& row : rows) {
    cells.emplace_back();
    for (const auto& value : row) cells.back().push_back(Cell(value));
  }
  std::vector<size_t> widths(cells[0].size());
  for (const auto& line : cells) {
    for (size_t i = 0; i < line.size(); ++i) {
      widths[i] = std::max(widths[i], line[i].size());
    }
  }
  for (const auto& line : cells) {
    for (size_t i = 0; i < line.size(); ++i) {
      std::printf("%s%*s", i == 0 ? "" : "  ", static_cast<int>(widths[i]),
                  line[i].c_str());
    }
    std::printf("\n");
  }
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

// For --quick: a tenth of everything.
std::vector<KeySet> Thinned(std::vector<KeySet> sets) {
  for (KeySet& set : sets) {
    for (auto* keys : {&set.keys, &set.absent}) {
      keys->resize((keys->size() + 9) / 10);
    }
  }
  return sets;
}

// The user's keys, or the published shapes and the real ones.
std::vector<KeySet> HashSets(const Settings& settings, const KeySet& own) {
  if (!settings.keys_file.empty()) return {own};
  std::vector<KeySet> sets = {RandomStrings(1000000, settings.seed),
                              VideoIds(40000, settings.seed),
                              AppAccounts(45402, settings.seed),
                              Words(),
                              FilePaths(),
                              Urls()};
  return settings.quick ? Thinned(std::move(sets)) : sets;
}

std::vector<KeySet> SpaceSets(const Settings& settings, const KeySet& own) {
  if (!settings.keys_file.empty()) return {own};
  std::vector<KeySet> sets = {VideoIds(80000, settings.seed),
                              AppAccounts(45402, settings.seed), Words()};
  return settings.quick ? Thinned(std::move(sets)) : sets;
}

Rows RunAll(const Settings& settings, const KeySet& own) {
  const bool all = settings.which == "all";
  Rows result = {{"seed", settings.seed}, {"quick", settings.quick}};
  if (all || settings.which == "hashes") {
    ShowProgress("reading keys");
    const std::vector<KeySet> sets = HashSets(settings, own);
    result["hash_keys"] = Origins(sets);
    result["hash_sources"] = HashSources();
    result["hashes"] = StudyHashes(sets, settings.repetitions, ShowProgress);
    EndProgress();
    PrintTable("Keys", result["hash_keys"]);
    PrintTable("Hashes", result["hashes"]);
  }
  if (all || settings.which == "space") {
    const std::vector<KeySet> sets = SpaceSets(settings, own);
    result["space_keys"] = Origins(sets);
    result["space"] = StudySpace(sets, ShowProgress);
    EndProgress();
    PrintTable("Space", result["space"]);
  }
  // Rates do not depend on whose keys they are.
  if (settings.which == "rates" || (all && settings.keys_file.empty())) {
    result["rates"] = StudyRates(settings.rate_keys, settings.queries,
                                 settings.seed, ShowProgress);
    result["growth"] = StudyGrowth(settings.max_keys, settings.queries,
                                   settings.seed, ShowProgress);
    EndProgress();
    PrintTable("Rates", result["rates"]);
    PrintTable("Growth at 10 bits per key", result["growth"]);
  }
  // Changes with the format only, so it is run when named.
  if (settings.which == "sizes") {
    result["sizes"] = StudySizes(settings.max_keys, settings.queries,
                                 settings.seed, ShowProgress);
    EndProgress();
    PrintTable("Sizes of classic filters", result["sizes"]);
  }
  return result;
}

bool WriteJson(const std::string& path, const Rows& result) {
  const auto write = [&](std::ostream* out) { *out << result.dump(1) << '\n'; };
  if (bench::WriteFile(path, write)) return true;
  std::perror(("study: --json " + path).c_str());
  return false;
}

bool MissedKeys(const Rows& result) {
  for (const auto& row : result.value("space", Rows::array())) {
    if (row["missed_keys"] != 0) return true;
  }
  return false;
}

int Run(const Settings& settings) {
  KeySet own;
  if (!settings.keys_file.empty()) {
    FileSummary summary;
    const std::string error = ReadKeys(settings.keys_file, &own, &summary);
    if (!error.empty()) {
      std::fprintf(stderr, "study: %s\n", error.c_str());
      return 2;
    }
    std::printf(
        "%s: %llu lines, %llu duplicates dropped, %llu empty, longest "
        "%llu bytes; every second key is asked for, not added\n",
        settings.keys_file.c_str(),
        static_cast<unsigned long long>(summary.lines),
        static_cast<unsigned long long>(summary.duplicates),
        static_cast<unsigned long long>(summary.empty),
        static_cast<unsigned long long>(summary.longest));
  }
  const Rows result = RunAll(settings, own);
  if (!settings.json_file.empty() && !WriteJson(settings.json_file, result)) {
    return 1;
  }
  if (MissedKeys(result)) {
    std::fprintf(stderr, "study: a filter missed a key that was added\n");
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace deltabloom::study

int main(int argc, char** argv) {
  using deltabloom::study::Settings;
  Settings settings;
  CLI::App app{
      "Measures what the design of a filter rests on: hashes, false-positive\n"
      "rates, space. Without --keys on generated and real keys."};
  app.name("study");
  app.add_option("study", settings.which,
                 "What to run; all runs everything but sizes")
      ->check(CLI::IsMember({"all", "rates", "hashes", "space", "sizes"}))
      ->capture_default_str();
  app.add_option("--keys", settings.keys_file,
                 "Run hashes and space on the keys of this file, one per line");
  app.add_option("--json", settings.json_file, "Write all rows to this file");
  app.add_option("--seed", settings.seed, "Seed of everything drawn at random")
      ->capture_default_str();
  app.add_option("--rate-keys", settings.rate_keys,
                 "Keys per filter in the study of rates")
      ->check(CLI::Range(uint64_t{1000}, uint64_t{100000000}))
      ->capture_default_str();
  app.add_option("--max-keys", settings.max_keys,
                 "Largest filter in the studies of growth and sizes")
      ->check(CLI::Range(uint64_t{1000}, uint64_t{1000000000}))
      ->capture_default_str();
  app.add_option("--queries", settings.queries, "Absent keys asked per filter")
      ->check(CLI::Range(uint64_t{1000}, uint64_t{1000000000}))
      ->capture_default_str();
  app.add_option("--repetitions", settings.repetitions,
                 "Timings of each hash; the median counts")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_flag("--quick", settings.quick,
               "A tenth of the keys and queries, for a first look");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    std::fprintf(stderr, "study: %s; see --help\n", error.what());
    return 2;
  }
  if (settings.quick) {
    settings.rate_keys = std::min<uint64_t>(settings.rate_keys, 10000);
    settings.max_keys = std::min<uint64_t>(settings.max_keys, 100000);
    settings.queries = std::min<uint64_t>(settings.queries, 100000);
    settings.repetitions = std::min(settings.repetitions, 3);
  }
  for (int signal : {SIGINT, SIGTERM}) {
    std::signal(signal, [](int) { deltabloom::study::interrupted = 1; });
  }
  try {
    return deltabloom::study::Run(settings);
  } catch (const deltabloom::study::Interrupted&) {
    deltabloom::study::EndProgress();
    std::fprintf(stderr, "study: interrupted; nothing written\n");
    return 130;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "study: out of memory; try a lower --max-keys\n");
    return 1;
  }
}
