// The rate of a classic filter over its exact size. All that counts is what
// becomes of a 32-bit hash, so hashes are drawn and no key is hashed.
#include <algorithm>
#include <cmath>
#include <memory>
#include <random>

#include "db_bench_ext/common/results.h"
#include "db_bench_ext/study/studies.h"
#include "deltabloom/sizing.h"
#include "util/layouts/classic/classic.h"
#include "util/layouts/layout.h"

namespace deltabloom::study {
namespace {

using bench::Median;
using internal::Plan;

// Spread over half a percent.
constexpr int kSizes = 32;

double MeasureRate(const internal::LayoutRow& row, internal::HashList* hashes,
                   const Plan& plan, uint64_t queries, uint64_t seed) {
  std::unique_ptr<unsigned char[]> payload(
      new unsigned char[plan.payload_size]());
  row.build(hashes, /*keep_hashes=*/true, plan, internal::ActiveCpu(),
            payload.get());
  internal::ParsedFilter parsed{};
  parsed.payload = payload.get();
  parsed.payload_size = plan.payload_size;
  row.parse(plan.last_byte, internal::ActiveCpu(), &parsed);
  std::mt19937_64 random(seed);
  uint64_t hits = 0;
  for (uint64_t i = 0; i < queries; ++i) {
    hits += row.may_match_hash(parsed, random() >> 32);
  }
  return static_cast<double>(hits) / static_cast<double>(queries);
}

double Largest(const std::vector<double>& values) {
  return *std::max_element(values.begin(), values.end());
}

Rows StudySize(uint64_t keys, uint32_t bits_per_key, uint64_t queries,
               uint64_t seed, const Progress& progress) {
  const internal::LayoutRow& row =
      *internal::FindLayout(Layout::kClassic, Hash::kMurmurHash2);
  std::mt19937_64 random(seed);
  internal::HashList hashes(row.hash_size);
  for (uint64_t i = 0; i < keys; ++i) hashes.Add(random() >> 32);
  const uint64_t bytes = (keys * bits_per_key + 7) / 8;
  const uint64_t step = std::max<uint64_t>(1, bytes / 200 / kSizes);
  std::vector<double> plain;
  std::vector<double> chosen;
  uint64_t added = 0;
  Plan plan = PlanFilter(&row, keys, bits_per_key * 1000);
  const uint32_t probes = plan.shape.As<internal::classic::Shape>().probes;
  for (int i = 0; i < kSizes; ++i) {
    progress("sizes, " + std::to_string(keys) + " keys at " +
             std::to_string(bits_per_key) + " bits per key, " +
             std::to_string(i) + " of " + std::to_string(kSizes));
    const uint64_t size = bytes + static_cast<uint64_t>(i) * step;
    internal::classic::SetSize(size, probes, &plan);
    plain.push_back(MeasureRate(row, &hashes, plan, queries, seed + 1));
    internal::classic::SetSize(internal::classic::GoodSizeFrom(size), probes,
                               &plan);
    added += plan.payload_size - size;
    chosen.push_back(plan.payload_size == size
                         ? plain.back()
                         : MeasureRate(row, &hashes, plan, queries, seed + 1));
  }
  return {
      {"bits_per_key", bits_per_key},
      {"keys", keys},
      {"theory", FalsePositiveRate(8 * bytes, keys, probes)},
      {"any_size_median", Median(plain)},
      {"any_size_worst", Largest(plain)},
      {"good_size_median", Median(chosen)},
      {"good_size_worst", Largest(chosen)},
      {"bytes_added", static_cast<double>(added) / kSizes},
  };
}

}  // namespace

Rows StudySizes(uint64_t max_keys, uint64_t queries, uint64_t seed,
                const Progress& progress) {
  Rows rows = Rows::array();
  for (uint32_t bits_per_key : {8u, 10u, 12u, 16u, 24u}) {
    // Rarer events need more trials.
    const uint64_t trials = queries * (bits_per_key < 16 ? 1 : 8);
    for (uint64_t keys :
         {20000u, 30000u, 50000u, 100000u, 300000u, 1000000u, 4000000u}) {
      if (keys > max_keys) continue;
      rows.push_back(StudySize(keys, bits_per_key, trials, seed, progress));
    }
  }
  return rows;
}

}  // namespace deltabloom::study
