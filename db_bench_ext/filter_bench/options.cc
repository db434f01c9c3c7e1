// The command line of filter_bench.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "db_bench_ext/common/program.h"
#include "db_bench_ext/filter_bench/competitors.h"
#include "db_bench_ext/filter_bench/keys.h"
#include "db_bench_ext/filter_bench/modes.h"

namespace deltabloom::bench {
namespace {

constexpr char kFooter[] = R"(
Counts may end in k or M: 100k, 10M. Lists are separated by commas.
script/bench --report [DIR] measures every figure in parts and writes tables.

Google Benchmark does the timing and writes the JSON; its options are accepted:
--benchmark_filter=REGEX, --benchmark_min_time=SECONDS, --benchmark_list_tests
and the rest of its manual, except its files and formats (use --json).
DELTABLOOM_CPU=portable|neon|avx2|avx512 lowers the instructions that Deltabloom's
kernels may use.

Figures: build is ns and temporary bytes per added key (the peak beyond the
filter itself); fp the false-positive rate with its binomial standard error;
theory the rate by the layout's formula; b/inf the stored bits per bit of
information, log2(1/fp). All others are ns per key and thread: lookups of absent
keys (miss), added keys (hit), in batches of 32 (batch), and in a filter chosen
evenly among many of 0.6 to 1.4 times as many keys (random). They include the
call, the loop and the key.

Exit codes: 0 done; 1 a filter lost a key, or a run failed; 2 bad usage;
130 interrupted.)";

std::vector<std::string> FilterNames(bool with_only_named) {
  std::vector<std::string> names;
  for (const CompetitorEntry& entry : AllCompetitors()) {
    if (!entry.only_named || with_only_named) names.push_back(entry.name);
  }
  return names;
}

void Declare(CLI::App* app, Options* options) {
  AsList(app->add_option("--competitors", options->competitors,
                         "Filters, by name (default: all but "
                         "deltabloom-leveldb, -seeded, -lowercase and "
                         "-counted); ratios refer to the first"))
      ->check(CLI::IsMember(FilterNames(true)));
  AsList(app->add_option("--keys", options->keys,
                         "Keys per filter (default: 1k,100k,1M,10M)"))
      ->transform(Count(1, 2'000'000'000));
  AsList(app->add_option("--bits-per-key", options->bits_per_key,
                         "Bits per key, 1 to 100 (default: 10)"))
      ->transform(Number(1, 100));
  AsList(app->add_option("--key-bytes", options->key_bytes,
                         "Sizes of keys, 8 to 1024 (default: 16)"))
      ->transform(Count(8, 1024));
  app->add_option("--key-kind", options->key_kind,
                  "random bytes; sequential: a prefix and a binary number; "
                  "decimal: a number in digits (default: random)")
      ->type_name("KIND")
      // Its own description would print the values of the enum, as characters.
      ->transform(
          CLI::CheckedTransformer(std::map<std::string, KeyKind>{
                                      {"random", KeyKind::kRandom},
                                      {"sequential", KeyKind::kSequential},
                                      {"decimal", KeyKind::kDecimal}})
              .description(""));
  AsList(app->add_option("--threads", options->threads,
                         "Threads that look up at the same time (default: 1)"))
      ->transform(Count(1, 256));
  const auto count = [app](const char* name, auto* value, uint64_t least,
                           uint64_t most, const char* help) {
    app->add_option(name, *value, help)->transform(Count(least, most));
  };
  count("--many-filter-keys", &options->many_filter_keys, 0, 1'000'000'000,
        "Keys in all filters together where a lookup chooses among many "
        "(default: 4M); 0: leave these out");
  count("--samples", &options->samples, 1000, 1'000'000'000,
        "Lookups to count false positives, at most (default: 4M)");
  count("--repetitions", &options->repetitions, 1, 1000,
        "Repetitions of every timing; medians are reported (default: 5)");
  count("--seed", &options->seed, 0, UINT64_MAX,
        "Seed of the keys (default: 1)");
  app->add_flag("--rates-only", options->rates_only,
                "No timing: sizes, memory and false positives");
  app->add_flag("--quick",
                "Fewer and shorter runs: less than a minute with the defaults");
  options->files.DeclareJson(app);
}

bool Has(const std::vector<std::string>& arguments, const char* option) {
  return std::find(arguments.begin(), arguments.end(), option) !=
         arguments.end();
}

// Defaults that depend on flags; the options that are given replace them.
void SetDefaults(const std::vector<std::string>& arguments, Options* options) {
  const bool quick = Has(arguments, "--quick");
  if (quick) {
    options->keys = {1000, 100'000, 1'000'000};
    options->many_filter_keys = 1'000'000;
    options->samples = 1'000'000;
    options->repetitions = 3;
    options->min_seconds = 0.005;
  }
  options->competitors = FilterNames(false);
}

// The rest of the command line is for Google Benchmark.
void TakeBenchmarkOptions(std::vector<std::string> rest, Options* options) {
  for (const std::string& option : rest) {
    if (option.rfind("--benchmark_", 0) != 0) {
      throw UsageError("unknown option or argument: " + option);
    }
    if (option.rfind("--benchmark_out", 0) == 0 ||
        option.rfind("--benchmark_format", 0) == 0) {
      throw UsageError(option + ": use --json, which is Google Benchmark's");
    }
    options->only_list |= option == "--benchmark_list_tests" ||
                          option == "--benchmark_list_tests=true";
  }
  options->benchmark_options = std::move(rest);
}

}  // namespace

std::string Setting::NameOf(const std::string& figure,
                            const std::string& competitor) const {
  std::ostringstream name;
  name << figure << '/' << competitor << "/keys:" << keys
       << "/key_bytes:" << key_bytes << "/bits_per_key:" << bits_per_key;
  return name.str();
}

std::vector<Setting> Options::Settings() const {
  std::vector<Setting> settings;
  for (const size_t size : key_bytes) {
    for (const double bits : bits_per_key) {
      for (const uint64_t count : keys) settings.push_back({count, size, bits});
    }
  }
  return settings;
}

bool ParseOptions(std::vector<std::string> arguments, Options* options) {
  CLI::App app(
      "Measures filters side by side: building, size, false positives "
      "and lookups.",
      "script/bench");
  app.footer(kFooter);
  Declare(&app, options);
  SetDefaults(arguments, options);
  app.allow_extras();
  if (!ParseCommandLine(std::move(arguments), &app)) return false;
  TakeBenchmarkOptions(app.remaining(), options);
  const size_t smallest = KeyMaker::SmallestSize(options->key_kind);
  for (const size_t size : options->key_bytes) {
    if (size >= smallest) continue;
    throw UsageError("--key-bytes: " + std::to_string(size) +
                     " is too short for keys of this kind: use " +
                     std::to_string(smallest) + " or more");
  }
  options->files.Claim();
  return true;
}

}  // namespace deltabloom::bench
