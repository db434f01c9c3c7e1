#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "db_bench_ext/common/mixing.h"
#include "db_bench_ext/common/program.h"
#include "db_bench_ext/common/results.h"
#include "db_bench_ext/filter_bench/competitors.h"
#include "db_bench_ext/filter_bench/filters.h"
#include "db_bench_ext/filter_bench/modes.h"

namespace deltabloom::bench {
namespace {

// The rate of a filter of few keys varies from filter to filter, so it is taken
// over this many keys in several filters; over fewer for few samples.
constexpr uint64_t kRateKeys = 200'000;
constexpr uint64_t kMaxRateFilters = 256;

// Lookups do not choose among fewer filters.
constexpr uint64_t kMinManyFilters = 5;

// Key numbers of the filters among which lookups choose, and of those that are
// built to be timed.
constexpr uint64_t kFirstOfMany = uint64_t{1} << 40;
constexpr uint64_t kFirstOfBuilds = uint64_t{1} << 42;

constexpr uint64_t kMaxFalseNegativeSamples = 1'000'000;

uint64_t ManyFilters(const Options& options, uint64_t keys) {
  const uint64_t filters = options.many_filter_keys / keys;
  return filters < kMinManyFilters || options.rates_only ? 0 : filters;
}

// One competitor in one setting.
class Contestant {
 public:
  Contestant(const Options& options, const Setting& setting,
             const CompetitorEntry& entry)
      : options_(options),
        setting_(setting),
        entry_(entry),
        maker_(options.key_kind, setting.key_bytes, options.seed),
        competitor_(entry.make(setting.bits_per_key)) {}

  void Build() {
    const uint64_t keys = setting_.keys;
    const uint64_t filters = std::clamp<uint64_t>(
        std::min(kRateKeys, options_.samples) / keys, 1, kMaxRateFilters);
    for (uint64_t i = 0; i < filters; ++i) {
      filters_.push_back(BuildFilter(competitor_, maker_, i * keys, keys));
    }
    uint64_t first = kFirstOfMany;
    for (uint64_t i = 0; i < ManyFilters(options_, keys); ++i) {
      // 0.6 to 1.4 times as many keys, in no order.
      const uint64_t spread = keys * 4 / 5 + 1;
      const uint64_t count =
          std::max<uint64_t>(1, keys * 3 / 5 + Scale(Mix(i + 1), spread));
      many_.push_back(BuildFilter(competitor_, maker_, first, count));
      first += count;
    }
  }

  // Sizes, false positives and memory. Throws std::runtime_error if an added
  // key is rejected.
  void Count(Collector* collector) const {
    double bits = 0;
    double formula = 0;
    bool has_formula = true;
    for (const BuiltFilter& filter : filters_) {
      bits += static_cast<double>(filter.bytes.size()) * 8;
      const auto rate = competitor_.rate(filter.bytes, filter.keys);
      has_formula &= rate.has_value();
      formula += rate.value_or(0);
    }
    const uint64_t lost =
        CountFalseNegatives(filters_, maker_, kMaxFalseNegativeSamples) +
        CountFalseNegatives(many_, maker_, kMaxFalseNegativeSamples);
    if (lost > 0) {
      throw std::runtime_error(entry_.name + " rejected " +
                               WithThousands(lost) + " added keys of " +
                               WithThousands(setting_.keys));
    }
    const auto filters = static_cast<double>(filters_.size());
    const auto keys = static_cast<double>(setting_.keys);
    const Rate rate = MeasureFalsePositives(filters_, maker_, options_.samples);
    const uint64_t memory =
        MeasureBuildBytes(competitor_, maker_, setting_.keys);
    std::map<std::string, double> figures = {
        {"false_positive_rate", rate.Value()},
        {"false_positive_error", BinomialError(rate.Value(), rate.samples)},
        {"false_positive_samples", static_cast<double>(rate.samples)},
        {"stored_bits_per_key", bits / filters / keys},
        {"build_bytes_per_key", static_cast<double>(memory) / keys}};
    if (has_formula) {
      figures["theoretical_false_positive_rate"] = formula / filters;
    }
    if (rate.Value() > 0 && rate.Value() < 1) {
      figures["bits_per_information_bit"] =
          figures["stored_bits_per_key"] / -std::log2(rate.Value());
    }
    collector->Add(setting_.NameOf("counted", entry_.name), figures);
  }

  void Register() {
    for (const LookupKind& kind : AllLookupKinds()) {
      if (kind.many && ManyFilters(options_, setting_.keys) == 0) continue;
      const auto run = [this, &kind](benchmark::State& state) {
        TimeLookups(kind, &state);
      };
      auto* const lookups = benchmark::RegisterBenchmark(
          setting_.NameOf(kind.name, entry_.name).c_str(), run);
      lookups->UseManualTime();
      for (const int threads : options_.threads) lookups->Threads(threads);
    }
    auto* const build = benchmark::RegisterBenchmark(
        setting_.NameOf("build_ns_per_key", entry_.name).c_str(),
        [this](benchmark::State& state) { TimeBuilding(&state); });
    build->UseManualTime()->Threads(1);
    // Large builds take long enough to be measured fewer times. A number set
    // here becomes a part of the name.
    const uint64_t keys = setting_.keys;
    const int most = keys >= 20'000'000 ? 1 : keys >= 5'000'000 ? 3 : 1000;
    if (most < options_.repetitions) build->Repetitions(most);
  }

 private:
  // The median of the iterations counts, so one long interruption does not.
  static void SetNsPerKey(std::vector<double> ns, benchmark::State* state) {
    state->counters["ns_per_key"] = benchmark::Counter(
        Median(std::move(ns)), benchmark::Counter::kAvgThreads);
  }

  void TimeLookups(const LookupKind& kind, benchmark::State* state) const {
    static std::atomic<uint64_t> stream{0};
    LookupLoop loop(kind, kind.many ? many_ : filters_, maker_, ++stream);
    const auto lookups = static_cast<double>(loop.Lookups());
    std::vector<double> ns;
    for (auto unused : *state) {
      static_cast<void>(unused);
      loop.Prepare();
      const double seconds = loop.Run();
      state->SetIterationTime(seconds);
      ns.push_back(seconds * 1e9 / lookups);
    }
    if (kind.present && loop.Matches() != loop.Lookups() * ns.size()) {
      state->SkipWithError("an added key was rejected");
    }
    benchmark::DoNotOptimize(loop.Matches());
    SetNsPerKey(std::move(ns), state);
  }

  void TimeBuilding(benchmark::State* state) const {
    static std::atomic<uint64_t> next_first{kFirstOfBuilds};
    std::vector<double> ns;
    for (auto unused : *state) {
      static_cast<void>(unused);
      double seconds = 0;
      BuildFilter(competitor_, maker_, next_first.fetch_add(setting_.keys),
                  setting_.keys, &seconds);
      state->SetIterationTime(seconds);
      ns.push_back(seconds * 1e9 / static_cast<double>(setting_.keys));
    }
    SetNsPerKey(std::move(ns), state);
  }

  const Options& options_;
  const Setting setting_;
  const CompetitorEntry& entry_;
  const KeyMaker maker_;
  const Competitor competitor_;
  std::vector<BuiltFilter> filters_;  // of equal size; the first is timed
  std::vector<BuiltFilter> many_;     // of varying size
};

}  // namespace

void MeasureFilters(const Options& options, Collector* collector) {
  const std::vector<Setting> settings = options.Settings();
  const auto& names = options.competitors;
  for (size_t i = 0; i < settings.size(); ++i) {
    const std::string progress =
        "[" + std::to_string(i + 1) + "/" + std::to_string(settings.size()) +
        "] " + WithThousands(settings[i].keys) + " keys, " +
        Significant(settings[i].bits_per_key, 4) + " bits per key";
    std::vector<std::unique_ptr<Contestant>> contestants;
    for (const CompetitorEntry& entry : AllCompetitors()) {
      if (std::count(names.begin(), names.end(), entry.name) == 0) continue;
      contestants.push_back(
          std::make_unique<Contestant>(options, settings[i], entry));
      if (!options.only_list) {
        ShowProgress(progress + ": building " + entry.name);
        contestants.back()->Build();
        contestants.back()->Count(collector);
      }
      contestants.back()->Register();
    }
    ShowProgress(progress + ": timing");
    collector->RunRegistered(options);
  }
}

}  // namespace deltabloom::bench
