#include "db_bench_ext/filter_bench/session.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "db_bench_ext/common/program.h"
#include "db_bench_ext/common/results.h"
#include "db_bench_ext/filter_bench/competitor.h"
#include "db_bench_ext/filter_bench/filters.h"
#include "db_bench_ext/filter_bench/lookups.h"
#include "db_bench_ext/filter_bench/machine.h"

namespace deltabloom::bench {
namespace {

// A filter of few keys is luckier or less lucky than the next one: the rate is
// taken over so many keys in several filters, but for few samples over fewer.
constexpr uint64_t kRateKeys = 200'000;
constexpr uint64_t kMaxRateFilters = 256;

// Fewer filters are no choice.
constexpr uint64_t kMinManyFilters = 5;

// Key numbers of the filters among which lookups choose, and of those that are
// built to be timed.
constexpr uint64_t kFirstOfMany = uint64_t{1} << 40;
constexpr uint64_t kFirstOfBuilds = uint64_t{1} << 42;

constexpr uint64_t kMaxFalseNegativeSamples = 1'000'000;
constexpr double kTellBytes = 1e9;

std::string BenchmarkName(const std::string& figure,
                          const std::string& competitor,
                          const Setting& setting) {
  std::ostringstream name;
  name << figure << '/' << competitor << "/keys:" << setting.keys
       << "/key_bytes:" << setting.key_bytes
       << "/bits_per_key:" << setting.bits_per_key;
  return name.str();
}

}  // namespace

// One competitor in the current setting.
struct Session::Contestant {
  const CompetitorEntry* entry;
  Setting setting;
  KeyMaker maker;
  std::unique_ptr<Competitor> competitor;
  std::vector<BuiltFilter> filters;  // of equal size; the first is timed
  std::vector<BuiltFilter> many;     // of varying size
  Row counted;
};

Session::Session(const Options& options, Collector* collector)
    : options_(options), collector_(collector) {
  for (const std::string& option : options.benchmark_options) {
    only_list_ |= option == "--benchmark_list_tests" ||
                  option == "--benchmark_list_tests=true";
  }
}

Session::~Session() { benchmark::ClearRegisteredBenchmarks(); }

uint64_t Session::RateFilters(const Setting& setting) const {
  const uint64_t keys = std::min(kRateKeys, options_.samples);
  return std::clamp<uint64_t>(keys / setting.keys, 1, kMaxRateFilters);
}

uint64_t Session::ManyFilters(const Setting& setting) const {
  const uint64_t filters = options_.many_filter_keys / setting.keys;
  return filters < kMinManyFilters || options_.rates_only ? 0 : filters;
}

double Session::MemoryOf(const Setting& setting) const {
  const auto keys = static_cast<double>(setting.keys);
  const auto filters =
      static_cast<double>(RateFilters(setting) + ManyFilters(setting));
  double kept = 0;
  double building = 0;
  for (const CompetitorEntry& entry : AllCompetitors()) {
    const auto& names = options_.competitors;
    if (!entry.is_floor &&
        std::find(names.begin(), names.end(), entry.name) == names.end()) {
      continue;
    }
    // Beside the bits: what RocksDB rounds up to, and the objects.
    kept += filters * (keys * setting.bits_per_key / 8 * 1.1 + 512);
    building =
        std::max(building, keys * entry.build_bytes_per_key(setting.key_bytes));
  }
  return kept + building;
}

void Session::CheckMemory() const {
  double most = 0;
  Setting largest;
  for (const Setting& setting : SettingsOf(options_)) {
    if (MemoryOf(setting) <= most) continue;
    most = MemoryOf(setting);
    largest = setting;
  }
  const auto available = static_cast<double>(AvailableMemory());
  char sizes[96];
  std::snprintf(sizes, sizeof(sizes), "up to %.1f GB of memory (%.1f GB free)",
                most / 1e9, available / 1e9);
  const std::string text =
      WithThousands(largest.keys) + " keys per filter need " + sizes;
  if (most > available) {
    throw std::runtime_error(text +
                             ": use fewer --keys or --competitors at a time");
  }
  if (most > kTellBytes && !only_list_) {
    std::fprintf(stderr, "filter_bench: %s\n", text.c_str());
  }
}

void Session::Count(Contestant* contestant) {
  const Competitor& competitor = *contestant->competitor;
  const KeyMaker& maker = contestant->maker;
  Row& row = contestant->counted;
  double bits = 0;
  double theory = 0;
  bool has_theory = true;
  for (const BuiltFilter& filter : contestant->filters) {
    bits += static_cast<double>(filter.bytes.size()) * 8;
    const auto rate = competitor.TheoreticalRate(filter.bytes, filter.keys);
    has_theory &= rate.has_value();
    theory += rate.value_or(0);
  }
  const auto filters = static_cast<double>(contestant->filters.size());
  const auto keys = static_cast<double>(contestant->setting.keys);
  row.stored_bits_per_key = bits / filters / keys;
  if (has_theory) row.theoretical_rate = theory / filters;

  const Rate rate =
      MeasureFalsePositives(contestant->filters, maker, options_.samples);
  row.false_positive_rate = rate.Value();
  row.false_positive_samples = rate.samples;
  row.false_positive_error = BinomialError(rate.Value(), rate.samples);
  for (const auto* filter_set : {&contestant->filters, &contestant->many}) {
    if (filter_set->empty()) continue;
    row.false_negatives +=
        CountFalseNegatives(*filter_set, maker, kMaxFalseNegativeSamples);
  }
  row.build_bytes_per_key = static_cast<double>(MeasureBuildBytes(
                                competitor, maker, contestant->setting.keys)) /
                            keys;
}

void Session::Prepare(const Setting& setting, const std::string& progress) {
  contestants_.clear();
  for (const CompetitorEntry& entry : AllCompetitors()) {
    const auto& names = options_.competitors;
    const bool wanted = entry.is_floor ? options_.floors
                                       : std::find(names.begin(), names.end(),
                                                   entry.name) != names.end();
    if (!wanted) continue;
    auto contestant = std::make_unique<Contestant>(Contestant{
        &entry,
        setting,
        KeyMaker(options_.key_kind, setting.key_bytes, options_.seed),
        entry.make(setting.bits_per_key),
        {},
        {},
        {}});
    Row& row = contestant->counted;
    row.competitor = entry.name;
    row.is_floor = entry.is_floor;
    row.setting = setting;
    contestants_.push_back(std::move(contestant));
    if (only_list_) continue;

    ShowProgress(progress + ": building " + entry.name);
    Contestant& current = *contestants_.back();
    const auto build = [&](uint64_t first, uint64_t keys) {
      return entry.is_floor
                 ? BuildFloor(*current.competitor, first, keys,
                              setting.bits_per_key)
                 : BuildFilter(*current.competitor, current.maker, first, keys);
    };
    const uint64_t rate_filters = entry.is_floor ? 1 : RateFilters(setting);
    for (uint64_t i = 0; i < rate_filters; ++i) {
      current.filters.push_back(build(i * setting.keys, setting.keys));
    }
    uint64_t first = kFirstOfMany;
    for (uint64_t i = 0; i < ManyFilters(setting); ++i) {
      // 0.6 to 1.4 times as many keys, in no order.
      const uint64_t spread = setting.keys * 4 / 5 + 1;
      const uint64_t keys = std::max<uint64_t>(
          1, setting.keys * 3 / 5 + Scale(Mix(i + 1), spread));
      current.many.push_back(build(first, keys));
      first += keys;
    }
    if (!entry.is_floor) Count(&current);
  }
}

void Session::RegisterLookups(Contestant* contestant) {
  static std::atomic<uint64_t> stream{0};
  for (const LookupKind& kind : AllLookupKinds()) {
    const bool single = kind.choice == Choice::kSingle;
    if (!single && ManyFilters(contestant->setting) == 0) continue;
    const std::string name =
        BenchmarkName(kind.name, contestant->entry->name, contestant->setting);
    const int batch = options_.batch;
    auto* benchmark = benchmark::RegisterBenchmark(
        name.c_str(),
        [&kind, contestant, single, batch](benchmark::State& state) {
          LookupLoop loop(kind, single ? contestant->filters : contestant->many,
                          contestant->maker, batch, ++stream);
          // Of the chunks the median counts: what interrupts one of them for
          // long is not the filter's.
          std::vector<double> chunk_ns;
          uint64_t lookups = 0;
          for (auto unused : state) {
            static_cast<void>(unused);
            loop.Prepare();
            const double seconds = loop.Run();
            state.SetIterationTime(seconds);
            chunk_ns.push_back(seconds * 1e9 /
                               static_cast<double>(loop.Lookups()));
            lookups += loop.Lookups();
          }
          if (kind.presence == Presence::kHit && !contestant->entry->is_floor &&
              loop.Matches() != lookups) {
            state.SkipWithError("an added key was denied");
          }
          benchmark::DoNotOptimize(loop.Matches());
          state.counters[kNsPerKey] = benchmark::Counter(
              Median(std::move(chunk_ns)), benchmark::Counter::kAvgThreads);
        });
    benchmark->UseManualTime();
    for (int threads : options_.threads) benchmark->Threads(threads);
  }
}

void Session::Register(Contestant* contestant) {
  RegisterLookups(contestant);
  if (contestant->entry->is_floor) return;
  static std::atomic<uint64_t> next_first{kFirstOfBuilds};
  const std::string name =
      BenchmarkName(kBuildTime, contestant->entry->name, contestant->setting);
  const uint64_t keys = contestant->setting.keys;
  // Large builds are long enough to be measured fewer times.
  const int most = keys >= 20'000'000 ? 1 : keys >= 5'000'000 ? 3 : 1000;
  RegisterMeasurement(
      name, keys,
      [contestant, keys] {
        double seconds = 0;
        BuildFilter(*contestant->competitor, contestant->maker,
                    next_first.fetch_add(keys), keys, &seconds);
        return seconds * 1e9 / static_cast<double>(keys);
      },
      most < options_.repetitions ? most : 0);
}

void Session::Time() {
  benchmark::ClearRegisteredBenchmarks();
  for (const auto& contestant : contestants_) Register(contestant.get());
  benchmark::RunSpecifiedBenchmarks(collector_);
}

std::vector<Row> Session::Rows(int threads, const Medians& medians) const {
  std::vector<Row> rows;
  for (const auto& contestant : contestants_) {
    Row row = contestant->counted;
    row.threads = threads;
    const auto take = [&](const std::string& figure, int figure_threads) {
      const auto median = medians.find(
          {BenchmarkName(figure, row.competitor, contestant->setting),
           figure_threads});
      if (median != medians.end()) row.times[figure] = median->second;
    };
    take(kBuildTime, 1);
    for (const LookupKind& kind : AllLookupKinds()) take(kind.name, threads);
    rows.push_back(std::move(row));
  }
  return rows;
}

void Session::Run(const std::function<void(const std::vector<Row>&)>& on_rows) {
  const std::vector<Setting> settings = SettingsOf(options_);
  for (size_t i = 0; i < settings.size(); ++i) {
    std::ostringstream progress;
    progress << '[' << i + 1 << '/' << settings.size() << "] "
             << WithThousands(settings[i].keys) << " keys, "
             << settings[i].bits_per_key << " bits per key";
    Prepare(settings[i], progress.str());
    if (!options_.rates_only || only_list_) {
      ShowProgress(progress.str() + ": timing");
      Time();
    }
    ShowProgress("");
    if (only_list_) continue;
    const Medians medians = collector_->TakeMedians();
    for (int threads : options_.threads) on_rows(Rows(threads, medians));
  }
  contestants_.clear();
}

}  // namespace deltabloom::bench
