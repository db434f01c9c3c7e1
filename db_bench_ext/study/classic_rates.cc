// What util/layouts/classic/rate.cc knows by measurement: how many times more
// false positives classic filters have than theory and the width of their hash
// say. All that counts is what becomes of a 32-bit hash, so hashes are drawn
// and no key is hashed.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "db_bench_ext/common/mixing.h"
#include "db_bench_ext/study/studies.h"
#include "util/layouts/classic/classic.h"
#include "util/layouts/layout.h"

namespace deltabloom::study {
namespace {

using internal::LayoutRow;
using internal::Plan;

// Sizes that share a number of probes, of which the worst counts.
constexpr uint32_t kSizes = 8;
// Few keys need many filters.
constexpr uint64_t kKeysAtLeast = 10000;
// Hits that make a rate good to two per cent, and the queries that are too many
// to wait for them.
constexpr uint64_t kHits = 2500;
constexpr uint64_t kMostQueries = 5000000;
// Of a filter of few keys at a time.
constexpr uint64_t kQueriesOfSmall = 1000;

const LayoutRow& Classic() {
  return *internal::FindLayout(Layout::kClassic, Hash::kMurmurHash2);
}

// A filter of random hashes.
class Built {
 public:
  Built(const Plan& plan, bench::MixedNumbers* random)
      : payload_(new unsigned char[plan.payload_size]()) {
    internal::HashList hashes(Classic().hash_size);
    for (uint64_t i = 0; i < plan.keys; ++i) hashes.Add(random->Next() >> 32);
    Classic().build(&hashes, /*keep_hashes=*/false, plan, internal::ActiveCpu(),
                    payload_.get());
    parsed_.payload = payload_.get();
    parsed_.payload_size = plan.payload_size;
    Classic().parse(plan.last_byte, internal::ActiveCpu(), &parsed_);
  }

  uint64_t CountHits(uint64_t queries, bench::MixedNumbers* random) const {
    uint64_t hits = 0;
    for (uint64_t i = 0; i < queries; ++i) {
      hits += Classic().may_match_hash(parsed_, random->Next() >> 32);
    }
    return hits;
  }

 private:
  std::unique_ptr<unsigned char[]> payload_;
  internal::ParsedFilter parsed_{};
};

// The rate measured, as a multiple of what it would be without the excess.
double MeasureExcess(const Plan& plan, uint64_t seed) {
  bench::MixedNumbers random(seed);
  const uint64_t filters = (kKeysAtLeast + plan.keys - 1) / plan.keys;
  // One filter will do where it has many keys.
  const uint64_t queries_each = filters == 1 ? kMostQueries : kQueriesOfSmall;
  uint64_t hits = 0;
  uint64_t queries = 0;
  for (uint64_t built = 0;
       built < filters || (hits < kHits && queries < kMostQueries); ++built) {
    const Built filter(plan, &random);
    for (uint64_t asked = 0; asked < queries_each && hits < kHits * (built + 1);
         asked += kQueriesOfSmall) {
      hits += filter.CountHits(kQueriesOfSmall, &random);
      queries += kQueriesOfSmall;
    }
  }
  return static_cast<double>(hits) / static_cast<double>(queries) /
         internal::classic::RateWithoutExcess(plan.shape, plan.keys);
}

double WorstExcess(uint64_t keys, uint32_t probes, uint64_t seed) {
  // Bits per key from the first with so many probes to the next number's.
  const auto millibits = [](double k) { return k * 100000 / 69; };
  double worst = 0;
  for (uint32_t i = 0; i < kSizes; ++i) {
    const Plan plan = PlanFilter(
        &Classic(), keys,
        static_cast<uint32_t>(millibits(probes + (i + 0.5) / kSizes)));
    worst = std::max(worst, MeasureExcess(plan, seed + i));
  }
  return worst;
}

}  // namespace

Rows StudyClassicRates(uint64_t max_keys, uint64_t seed,
                       const Progress& progress) {
  Rows rows = Rows::array();
  for (const uint64_t keys : internal::classic::kMeasuredKeys) {
    if (keys > max_keys) break;
    Rows row = {{"keys", keys}};
    for (const uint32_t probes : internal::classic::kMeasuredProbes) {
      progress("excess of " + std::to_string(keys) + " keys, " +
               std::to_string(probes) + " probes");
      row["k=" + std::to_string(probes)] =
          std::round(1000 * WorstExcess(keys, probes, seed)) / 1000;
    }
    rows.push_back(row);
  }
  return rows;
}

}  // namespace deltabloom::study
