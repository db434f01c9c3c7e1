#include "db_bench_ext/filter_bench/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <type_traits>

#include "db_bench_ext/common/program.h"
#include "db_bench_ext/filter_bench/competitor.h"

namespace deltabloom::bench {
namespace {

constexpr char kFooter[] = R"(
Counts may end in k or M: 100k, 10M. Lists are separated by commas.

Google Benchmark measures: its own options work too, --benchmark_filter=REGEX,
--benchmark_min_time=SECONDS, --benchmark_format=json|csv|console,
--benchmark_out=FILE with --benchmark_out_format, --benchmark_list_tests and the
rest of its manual. DELTABLOOM_CPU=portable|avx2|avx512 lowers what Deltabloom's
kernels may use.

Columns: build is ns and temporary bytes per added key (the peak beyond the
filter itself); fp the false-positive rate with its binomial standard error;
theory what the layout's mathematics gives; b/inf the stored bits per bit of
information, log2(1/fp). All others are ns per key and thread: lookups of absent
keys (miss), added keys (hit), both at random (mixed), of absent keys where each
depends on the answer before it (dep), in batches (batch), and in a filter
chosen among many of 0.6 to 1.4 times as many keys, evenly (random) or 80 % of
them in 20 % of the filters (skewed). The call, the loop and the key are
included: see the floors.

Exit codes: 0 done; 1 a filter lost a key, or a run failed; 2 bad usage;
130 interrupted.)";

std::vector<std::string> FilterNames() {
  std::vector<std::string> names;
  for (const CompetitorEntry& entry : AllCompetitors()) {
    if (!entry.is_floor) names.push_back(entry.name);
  }
  return names;
}

// Those that take part unless others are named.
std::vector<std::string> DefaultNames() {
  std::vector<std::string> names;
  for (const CompetitorEntry& entry : AllCompetitors()) {
    if (!entry.is_floor && !entry.only_named) names.push_back(entry.name);
  }
  return names;
}

void CheckCompetitor(const char* option, const std::string& name,
                     const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    throw UsageError(std::string(option) + ": unknown competitor '" + name +
                     "': use " + JoinList(known));
  }
}

std::vector<std::string> ParseCompetitors(const std::string& list) {
  const std::vector<std::string> known = FilterNames();
  std::vector<std::string> names = SplitList(list);
  if (names.empty()) {
    throw UsageError("--competitors: an empty list: use " + JoinList(known));
  }
  for (const std::string& name : names) {
    CheckCompetitor("--competitors", name, known);
  }
  return names;
}

KeyKind ParseKeyKind(const std::string& name) {
  if (name == "random") return KeyKind::kRandom;
  if (name == "sequential") return KeyKind::kSequential;
  if (name == "decimal") return KeyKind::kDecimal;
  throw UsageError("--key-kind: '" + name +
                   "' is not random, sequential or decimal");
}

// Takes Google Benchmark's options out of *arguments.
void TakeBenchmarkOptions(std::vector<std::string>* arguments,
                          Options* options) {
  const auto value_of = [](const std::string& argument, const char* name,
                           std::string* value) {
    const std::string start = std::string("--") + name + "=";
    if (argument.compare(0, start.size(), start) != 0) return false;
    *value = argument.substr(start.size());
    return true;
  };
  std::vector<std::string> rest;
  for (const std::string& argument : *arguments) {
    if (argument.compare(0, 12, "--benchmark_") != 0) {
      rest.push_back(argument);
    } else if (!value_of(argument, "benchmark_format",
                         &options->benchmark_format) &&
               !value_of(argument, "benchmark_out", &options->benchmark_out) &&
               !value_of(argument, "benchmark_out_format",
                         &options->benchmark_out_format)) {
      options->benchmark_options.push_back(argument);
    }
  }
  for (const std::string& format :
       {options->benchmark_format, options->benchmark_out_format}) {
    if (!format.empty() && format != "json" && format != "csv" &&
        format != "console") {
      throw UsageError("--benchmark_format: '" + format +
                       "' is not json, csv or console");
    }
  }
  *arguments = rest;
}

void CheckTogether(const Options& options) {
  const size_t smallest = KeyMaker::SmallestSize(options.key_kind);
  for (uint64_t size : options.key_bytes) {
    if (size < smallest) {
      throw UsageError("--key-bytes: " + std::to_string(size) +
                       " is too short for keys of this kind: use " +
                       std::to_string(smallest) + " or more");
    }
  }
  if (options.report &&
      (options.json || options.csv || options.plot ||
       !options.benchmark_format.empty() || !options.benchmark_out.empty())) {
    throw UsageError(
        "--report writes files of its own: leave out --json, --csv, --plot and "
        "Google Benchmark's formats");
  }
  if (options.database + options.arrangements + options.ranges > 1) {
    throw UsageError(
        "--database, --arrangements and --ranges: use one at a time");
  }
  const int takers = (options.json == "-" ? 1 : 0) +
                     (options.csv == "-" ? 1 : 0) +
                     (options.benchmark_format.empty() ? 0 : 1);
  if (takers > 1) {
    throw UsageError(
        "--json, --csv and --benchmark_format: only one of them can have "
        "standard output: name a file");
  }
}

// The command line as text, before it is checked.
struct RawOptions {
  std::string competitors;
  std::string keys;
  std::string key_bytes;
  std::string bits_per_key;
  std::string key_kind;
  std::string threads;
  std::string batch;
  std::string many_filter_keys;
  std::string samples;
  std::string repetitions;
  std::string seed;
  std::string json;
  std::string csv;
  std::string report;
  bool no_floors = false;
};

void Declare(CLI::App* app, RawOptions* raw, Options* options) {
  app->footer(kFooter);
  app->add_option("--competitors", raw->competitors,
                  "Which filters, by name: " + JoinList(FilterNames()) +
                      " (default: all but deltabloom-leveldb and its like, "
                      "-seeded, -lowercase and -counted)");
  app->add_option("--baseline", options->baseline,
                  "The competitor that ratios refer to (default: the first)");
  app->add_option("--keys", raw->keys,
                  "Keys per filter (default: 1k,100k,1M,10M)");
  app->add_option("--bits-per-key", raw->bits_per_key,
                  "Bits per key asked for, 1 to 100 (default: 10)");
  app->add_option("--key-bytes", raw->key_bytes,
                  "Sizes of keys, 8 to 1024 (default: 16)");
  app->add_option("--key-kind", raw->key_kind,
                  "random bytes; sequential: a prefix and a binary number; "
                  "decimal: a number in digits (default: random)");
  app->add_option("--threads", raw->threads,
                  "Threads that look up at the same time (default: 1)");
  app->add_option("--batch", raw->batch,
                  "Keys per batch, 1 to 32 (default: 32)");
  app->add_option("--many-filter-keys", raw->many_filter_keys,
                  "Keys in all filters together where a lookup chooses among "
                  "many (default: 4M); 0: leave these out");
  app->add_option("--samples", raw->samples,
                  "At most so many lookups to count false positives "
                  "(default: 4M)");
  app->add_option("--repetitions", raw->repetitions,
                  "Of every timing; medians are reported (default: 5)");
  app->add_option("--seed", raw->seed, "Of the keys (default: 1)");
  app->add_flag("--no-floors", raw->no_floors,
                "Leave out the floors: empty call, hash, cache line");
  app->add_flag("--rates-only", options->rates_only,
                "No timing: sizes, memory and false positives");
  app->add_flag("--database", options->database,
                "Measure Get and MultiGet in RocksDB databases instead, with "
                "full and with partitioned filters, all in the block cache");
  app->add_flag("--arrangements", options->arrangements,
                "Measure the filters of one table instead, arranged per block, "
                "in partitions and as a whole (default keys: 10k,100k,1M)");
  app->add_flag(
      "--ranges", options->ranges,
      "Measure range filters instead: empty ranges over their length, "
      "beside Bloom filters of prefixes (default: 1M keys, 8 to 24 "
      "bits per key, 100k samples)");
  app->add_flag("--quick", options->quick,
                "Fewer and shorter runs: less than a minute with the defaults");
}

void DeclareOutputs(CLI::App* app, RawOptions* raw, Options* options) {
  app->add_option("--json", raw->json,
                  "Write results as JSON to FILE or standard output")
      ->expected(0, 1)
      ->type_name("[FILE]");
  app->add_option("--csv", raw->csv,
                  "Write results as CSV to FILE or standard output")
      ->expected(0, 1)
      ->type_name("[FILE]");
  app->add_option("--plot", options->plot,
                  "Draw lookup_ns.png (over key counts) and "
                  "false_positives.png (over bits per key) into DIR; of ranges "
                  "ranges.png")
      ->type_name("DIR");
  app->add_option("--report", raw->report,
                  "Measure what docs/performance.md shows and write its tables "
                  "and plots, there or into DIR; about 25 minutes. Interrupted "
                  "reports continue when started again. With --quick: a "
                  "small one, to try it")
      ->expected(0, 1)
      ->type_name("[DIR]");
}

void Check(const CLI::App& app, const RawOptions& raw, Options* options) {
  if (options->quick) {
    options->keys = {1000, 100'000, 1'000'000};
    options->many_filter_keys = 1'000'000;
    options->samples = 1'000'000;
    options->repetitions = 3;
    options->min_seconds = 0.005;
  }
  if (options->arrangements) options->keys = {10'000, 100'000, 1'000'000};
  if (options->ranges) {
    options->keys = {options->quick ? uint64_t{100'000} : 1'000'000};
    options->samples = options->quick ? 20'000 : 100'000;
    options->bits_per_key = {8, 10, 12, 14, 16, 18, 20, 24};
  }
  const auto given = [&app](const char* option) {
    return app.count(option) > 0;
  };
  options->competitors = DefaultNames();
  if (given("--competitors")) {
    options->competitors = ParseCompetitors(raw.competitors);
  }
  if (!given("--baseline")) options->baseline = options->competitors.front();
  CheckCompetitor("--baseline", options->baseline, options->competitors);
  if (given("--key-kind")) options->key_kind = ParseKeyKind(raw.key_kind);
  const auto counts = [&given](const char* option, const std::string& text,
                               uint64_t least, uint64_t most, auto* values) {
    if (given(option)) ParseCounts(option, text, least, most, values);
  };
  counts("--keys", raw.keys, 1, 2'000'000'000, &options->keys);
  counts("--key-bytes", raw.key_bytes, 8, 1024, &options->key_bytes);
  counts("--threads", raw.threads, 1, 256, &options->threads);
  if (given("--bits-per-key")) {
    options->bits_per_key.clear();
    for (const std::string& text : SplitList(raw.bits_per_key)) {
      options->bits_per_key.push_back(
          ParseNumber("--bits-per-key", text, 1, 100));
    }
    if (options->bits_per_key.empty()) {
      throw UsageError("--bits-per-key: an empty list");
    }
  }
  const auto count = [&given](const char* option, const std::string& text,
                              uint64_t least, uint64_t most, auto* value) {
    if (given(option)) {
      *value = static_cast<std::remove_pointer_t<decltype(value)>>(
          ParseCount(option, text, least, most));
    }
  };
  count("--batch", raw.batch, 1, 32, &options->batch);
  count("--many-filter-keys", raw.many_filter_keys, 0, 1'000'000'000,
        &options->many_filter_keys);
  count("--samples", raw.samples, 1000, 1'000'000'000, &options->samples);
  count("--repetitions", raw.repetitions, 1, 1000, &options->repetitions);
  count("--seed", raw.seed, 0, UINT64_MAX, &options->seed);
  options->floors = !raw.no_floors && !options->rates_only;
  const auto target = [&given](const char* option, const std::string& file,
                               const char* otherwise) {
    std::optional<std::string> result;
    if (given(option)) result = file.empty() ? otherwise : file;
    return result;
  };
  options->json = target("--json", raw.json, "-");
  options->csv = target("--csv", raw.csv, "-");
  options->report = target("--report", raw.report, "");
  CheckTogether(*options);
}

}  // namespace

std::optional<Options> ParseOptions(int argc, char** argv) {
  Options options;
  RawOptions raw;
  CLI::App app(
      "Measures filters side by side: building, size, false positives "
      "and lookups.",
      "script/bench");
  Declare(&app, &raw, &options);
  DeclareOutputs(&app, &raw, &options);
  std::vector<std::string> arguments(argv + 1, argv + argc);
  options.command_line = "script/bench";
  for (const std::string& argument : arguments) {
    options.command_line += " " + argument;
  }
  TakeBenchmarkOptions(&arguments, &options);
  if (!ParseCommandLine(std::move(arguments), &app)) return std::nullopt;
  Check(app, raw, &options);
  return options;
}

}  // namespace deltabloom::bench
