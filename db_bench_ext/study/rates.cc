// False positives: of the classic layout and of the formula, of every layout
// over the number of keys, and of classic filters over their exact size.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "db_bench_ext/common/mixing.h"
#include "db_bench_ext/common/program.h"
#include "db_bench_ext/common/results.h"
#include "db_bench_ext/study/studies.h"
#include "deltabloom/filter.h"
#include "deltabloom/sizing.h"
#include "util/coding.h"
#include "util/cpu.h"
#include "util/hash_list.h"
#include "util/layouts/classic/classic.h"
#include "util/layouts/layout.h"
#include "util/parsed_filter.h"

namespace deltabloom::study {
namespace {

using bench::Median;
using bench::Mix;
using bench::MixedNumbers;
using bench::PrintStep;
using bench::ShowProgress;
using internal::HashList;
using internal::LayoutRow;
using internal::Plan;

const LayoutRow& Classic() {
  return *internal::FindLayout(Layout::kClassic, Hash::kMurmurHash2);
}

double Share(uint64_t part, uint64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

// Distinct numbers give distinct keys.
struct NumberKey {
  char bytes[16];

  NumberKey(uint64_t number, uint64_t seed) {
    internal::StoreFixed64(bytes, Mix(number));
    internal::StoreFixed64(bytes + 8, Mix(number ^ Mix(seed)));
  }
  std::string_view view() const { return {bytes, sizeof(bytes)}; }
};

// The hits of queries that draw hash values from `next`.
template <typename MayMatchNext>
uint64_t CountHits(uint64_t queries, const MayMatchNext& next) {
  uint64_t hits = 0;
  for (uint64_t i = 0; i < queries; ++i) hits += next(i);
  return hits;
}

// A Bloom filter with k independent positions.
class IdealFilter {
 public:
  IdealFilter(uint64_t bits, uint32_t k) : bits_(bits), k_(k), set_(bits) {}

  void Add(uint64_t number) {
    for (uint32_t i = 0; i < k_; ++i) set_[Position(number, i)] = true;
  }

  bool MayMatch(uint64_t number) const {
    for (uint32_t i = 0; i < k_; ++i) {
      if (!set_[Position(number, i)]) return false;
    }
    return true;
  }

 private:
  size_t Position(uint64_t number, uint32_t i) const {
    return Mix(Mix(number) + i * 0xd1342543de82ef95) % bits_;
  }

  uint64_t bits_;
  uint32_t k_;
  std::vector<bool> set_;
};

// A classic filter of an exact plan, of hashes. Random hashes give the same
// rates as the hashes of keys, and take less time.
class ClassicFilter {
 public:
  ClassicFilter(HashList* hashes, bool keep_hashes, const Plan& plan)
      : payload_(plan.payload_size, '\0') {
    auto* const bytes = reinterpret_cast<unsigned char*>(payload_.data());
    Classic().build(hashes, keep_hashes, plan, internal::ActiveCpu(), bytes);
    parsed_.payload = bytes;
    parsed_.payload_size = plan.payload_size;
    Classic().parse(plan.last_byte, internal::ActiveCpu(), &parsed_);
  }

  bool MayMatch(uint64_t hash) const {
    return Classic().may_match_hash(parsed_, hash);
  }

  uint64_t CountRandomHits(uint64_t queries, MixedNumbers* random) const {
    return CountHits(queries,
                     [&](uint64_t) { return MayMatch(random->Next() >> 32); });
  }

 private:
  std::string payload_;
  internal::ParsedFilter parsed_{};
};

HashList RandomHashes(uint64_t keys, MixedNumbers* random) {
  HashList hashes(Classic().hash_size);
  for (uint64_t i = 0; i < keys; ++i) hashes.Add(random->Next() >> 32);
  return hashes;
}

Json RateRow(uint64_t keys, uint64_t queries, uint32_t bits_per_key, uint32_t k,
             uint64_t seed) {
  const uint64_t bits = (keys * bits_per_key + 7) / 8 * 8;
  const auto hash = [seed](uint64_t i) {
    return Classic().hash(NumberKey(i, seed).view());
  };
  HashList hashes(Classic().hash_size);
  for (uint64_t i = 0; i < keys; ++i) hashes.Add(hash(i));
  Plan plan;
  internal::classic::SetSize(bits / 8, k, &plan);
  const ClassicFilter filter(&hashes, false, plan);
  const uint64_t classic = CountHits(
      queries, [&](uint64_t i) { return filter.MayMatch(hash(keys + i)); });
  IdealFilter ideal_filter(bits, k);
  for (uint64_t i = 0; i < keys; ++i) ideal_filter.Add(Mix(seed) + i);
  const uint64_t ideal = CountHits(queries, [&](uint64_t i) {
    return ideal_filter.MayMatch(Mix(seed) + keys + i);
  });
  return {{"bits_per_key", bits_per_key},
          {"k", k},
          {"keys", keys},
          {"theory", FalsePositiveRate(bits, keys, k)},
          {"theory_finite", FalsePositiveRateFinite(bits, keys, k)},
          {"classic", Share(classic, queries)},
          {"classic_error", RateError(classic, queries)},
          {"ideal", Share(ideal, queries)},
          {"ideal_error", RateError(ideal, queries)}};
}

Json GrowthRow(const LayoutRow& row, uint64_t keys, uint64_t queries,
               uint64_t seed) {
  FilterOptions options;
  options.layout = row.layout;
  FilterBuilder builder(options);
  for (uint64_t i = 0; i < keys; ++i) builder.AddKey(NumberKey(i, seed).view());
  std::string bytes;
  builder.Finish(&bytes);
  const Filter filter(bytes);
  const uint64_t hits = CountHits(queries, [&](uint64_t i) {
    return filter.MayMatch(NumberKey(keys + i, seed).view());
  });
  return {{"layout", row.name},
          {"keys", keys},
          {"stored_bits_per_key", 8 * Share(bytes.size(), keys)},
          {"false_positive_rate", Share(hits, queries)},
          {"error", RateError(hits, queries)}};
}

Json SizeRow(uint64_t keys, uint32_t bits_per_key, uint64_t queries,
             uint64_t seed) {
  constexpr uint64_t kSizes = 32;  // over half a percent
  MixedNumbers random(seed);
  HashList hashes = RandomHashes(keys, &random);
  const uint64_t bytes = (keys * bits_per_key + 7) / 8;
  const uint64_t step = std::max<uint64_t>(1, bytes / 200 / kSizes);
  Plan plan = PlanFilter(&Classic(), keys, bits_per_key * 1000);
  const uint32_t probes = plan.shape.As<internal::classic::Shape>().probes;
  const auto rate_of = [&](uint64_t size) {
    internal::classic::SetSize(size, probes, &plan);
    MixedNumbers absent(seed + 1);
    return Share(
        ClassicFilter(&hashes, true, plan).CountRandomHits(queries, &absent),
        queries);
  };
  std::vector<double> plain;
  std::vector<double> chosen;
  uint64_t added = 0;
  for (uint64_t i = 0; i < kSizes; ++i) {
    ShowProgress("sizes, " + std::to_string(keys) + " keys at " +
                 std::to_string(bits_per_key) + " bits per key, " +
                 std::to_string(i) + " of " + std::to_string(kSizes));
    const uint64_t size = bytes + i * step;
    const uint64_t good_size = internal::classic::GoodSizeFrom(size);
    plain.push_back(rate_of(size));
    chosen.push_back(good_size == size ? plain.back() : rate_of(good_size));
    added += good_size - size;
  }
  return {{"bits_per_key", bits_per_key},
          {"keys", keys},
          {"theory", FalsePositiveRate(8 * bytes, keys, probes)},
          {"any_size_median", Median(plain)},
          {"any_size_worst", *std::max_element(plain.begin(), plain.end())},
          {"good_size_median", Median(chosen)},
          {"good_size_worst", *std::max_element(chosen.begin(), chosen.end())},
          {"bytes_added", Share(added, kSizes)}};
}

// The rate measured, as a multiple of the formula.
double MeasureExcess(const Plan& plan, uint64_t seed) {
  constexpr uint64_t kLeastKeys = 10'000;  // in all filters of a few keys
  constexpr uint64_t kHits = 2500;         // an error of two percent
  constexpr uint64_t kMostQueries = 5'000'000;
  constexpr uint64_t kStep = 1000;  // queries of a filter of few keys
  MixedNumbers random(seed);
  const uint64_t filters = (kLeastKeys + plan.keys - 1) / plan.keys;
  const uint64_t queries_each = filters == 1 ? kMostQueries : kStep;
  uint64_t hits = 0;
  uint64_t queries = 0;
  for (uint64_t built = 0;
       built < filters || (hits < kHits && queries < kMostQueries); ++built) {
    HashList hashes = RandomHashes(plan.keys, &random);
    const ClassicFilter filter(&hashes, false, plan);
    for (uint64_t done = 0; done < queries_each && hits < kHits * (built + 1);
         done += kStep) {
      hits += filter.CountRandomHits(kStep, &random);
      queries += kStep;
    }
  }
  return Share(hits, queries) /
         internal::classic::RateWithoutExcess(plan.shape, plan.keys);
}

// The worst of the sizes with this number of probes.
double WorstExcess(uint64_t keys, uint32_t probes, uint64_t seed) {
  constexpr uint32_t kSizes = 8;
  double worst = 0;
  for (uint32_t i = 0; i < kSizes; ++i) {
    // The sizes are spread from the first bits per key with this number of
    // probes to the first with the next number.
    const double millibits = (probes + (i + 0.5) / kSizes) * 100000 / 69;
    const Plan plan =
        PlanFilter(&Classic(), keys, static_cast<uint32_t>(millibits));
    worst = std::max(worst, MeasureExcess(plan, seed + i));
  }
  return worst;
}

}  // namespace

double RateError(uint64_t hits, uint64_t queries) {
  // The result is half the width of the Wilson score interval at 95 %, and kZ
  // the quantile of the normal distribution for it.
  constexpr double kZ = 1.96;
  const auto n = static_cast<double>(queries);
  const double p = Share(hits, queries);
  return kZ / (1 + kZ * kZ / n) *
         std::sqrt(p * (1 - p) / n + kZ * kZ / (4 * n * n));
}

Json StudyRates(uint64_t keys, uint64_t queries, uint64_t seed) {
  Json rows = Json::array();
  for (uint32_t bits_per_key = 2; bits_per_key <= 32; ++bits_per_key) {
    ShowProgress("rates at " + std::to_string(bits_per_key) + " bits per key");
    for (uint32_t k = 1; k <= 8; ++k) {
      rows.push_back(RateRow(keys, queries, bits_per_key, k, seed));
    }
  }
  return rows;
}

Json StudyGrowth(uint64_t max_keys, uint64_t queries, uint64_t seed) {
  Json rows = Json::array();
  for (uint64_t keys = 1000; keys <= max_keys;
       keys = keys % 3 == 0 ? keys / 3 * 10 : keys * 3) {
    ShowProgress("growth, " + std::to_string(keys) + " keys");
    for (const LayoutRow* row : internal::kLayouts) {
      if (row->classic_hash != Hash::kMurmurHash2) continue;
      rows.push_back(GrowthRow(*row, keys, queries, seed));
    }
  }
  return rows;
}

Json StudySizes(uint64_t max_keys, uint64_t queries, uint64_t seed) {
  Json rows = Json::array();
  for (uint32_t bits_per_key : {8u, 10u, 12u, 16u, 24u}) {
    // Rarer events need more trials.
    const uint64_t trials = queries * (bits_per_key < 16 ? 1 : 8);
    for (uint64_t keys :
         {20000u, 30000u, 50000u, 100000u, 300000u, 1000000u, 4000000u}) {
      if (keys > max_keys) continue;
      rows.push_back(SizeRow(keys, bits_per_key, trials, seed));
      PrintStep("sizes: " + std::to_string(keys) + " keys at " +
                std::to_string(bits_per_key) + " bits per key done");
    }
  }
  return rows;
}

Json StudyClassicRates(uint64_t max_keys, uint64_t seed) {
  Json rows = Json::array();
  for (const uint64_t keys : internal::classic::kMeasuredKeys) {
    if (keys > max_keys) break;
    Json row = {{"keys", keys}};
    for (const uint32_t probes : internal::classic::kMeasuredProbes) {
      ShowProgress("excess of " + std::to_string(keys) + " keys, " +
                   std::to_string(probes) + " probes");
      row["k=" + std::to_string(probes)] =
          std::round(1000 * WorstExcess(keys, probes, seed)) / 1000;
    }
    rows.push_back(row);
    PrintStep("classic: " + std::to_string(keys) + " keys done");
  }
  return rows;
}

}  // namespace deltabloom::study
