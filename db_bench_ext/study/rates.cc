#include <cmath>
#include <memory>

#include "db_bench_ext/common/mixing.h"
#include "db_bench_ext/study/studies.h"
#include "deltabloom/filter.h"
#include "deltabloom/sizing.h"
#include "util/coding.h"
#include "util/key_batch.h"
#include "util/layouts/classic/classic.h"
#include "util/layouts/layout.h"

namespace deltabloom::study {
namespace {

using bench::Mix;
using internal::HashList;
using internal::LayoutRow;
using internal::ParsedFilter;
using internal::Plan;

// Distinct numbers give distinct keys.
struct NumberKey {
  char bytes[16];

  NumberKey(uint64_t number, uint64_t seed) {
    internal::StoreFixed64(bytes, Mix(number));
    internal::StoreFixed64(bytes + 8, Mix(number ^ Mix(seed)));
  }
  std::string_view view() const { return {bytes, sizeof(bytes)}; }
};

// A Bloom filter as the theory has it: k positions that have nothing to do
// with each other.
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

uint64_t CountIdeal(uint64_t keys, uint64_t queries, uint64_t bits, uint32_t k,
                    uint64_t seed) {
  IdealFilter filter(bits, k);
  for (uint64_t i = 0; i < keys; ++i) filter.Add(Mix(seed) + i);
  uint64_t hits = 0;
  for (uint64_t i = 0; i < queries; ++i) {
    hits += filter.MayMatch(Mix(seed) + keys + i);
  }
  return hits;
}

uint64_t CountMatches(const ParsedFilter& parsed, uint64_t first,
                      uint64_t queries, uint64_t seed) {
  constexpr size_t kBatch = 32;
  uint64_t hits = 0;
  for (uint64_t i = 0; i < queries; i += kBatch) {
    const size_t n =
        static_cast<size_t>(std::min<uint64_t>(kBatch, queries - i));
    std::vector<NumberKey> keys;
    std::string_view views[kBatch];
    bool match[kBatch];
    keys.reserve(n);
    for (size_t j = 0; j < n; ++j) {
      keys.emplace_back(first + i + j, seed);
      views[j] = keys.back().view();
    }
    internal::MayMatchViews(parsed, views, n, match);
    for (size_t j = 0; j < n; ++j) hits += match[j];
  }
  return hits;
}

// Hits of a classic filter of exactly this size and k.
uint64_t CountClassic(uint64_t keys, uint64_t queries, uint64_t bits,
                      uint32_t k, uint64_t seed) {
  const LayoutRow* row =
      internal::FindLayout(Layout::kClassic, Hash::kMurmurHash2);
  HashList hashes(row->hash_size);
  for (uint64_t i = 0; i < keys; ++i)
    hashes.Add(row->hash(NumberKey(i, seed).view()));
  Plan plan;
  internal::classic::SetSize(bits / 8, k, &plan);
  std::string payload(plan.payload_size, '\0');
  auto* bytes = reinterpret_cast<unsigned char*>(&payload[0]);
  row->build(&hashes, false, plan, internal::ActiveCpu(), bytes);
  ParsedFilter parsed{};
  parsed.payload = bytes;
  parsed.payload_size = plan.payload_size;
  row->parse(plan.last_byte, internal::ActiveCpu(), &parsed);
  return CountMatches(parsed, keys, queries, seed);
}

}  // namespace

double RateError(uint64_t hits, uint64_t queries) {
  constexpr double kZ = 1.96;
  const auto n = static_cast<double>(queries);
  const double p = static_cast<double>(hits) / n;
  return kZ / (1 + kZ * kZ / n) *
         std::sqrt(p * (1 - p) / n + kZ * kZ / (4 * n * n));
}

Rows StudyRates(uint64_t keys, uint64_t queries, uint64_t seed,
                const Progress& progress) {
  Rows rows = Rows::array();
  for (uint32_t bits_per_key = 2; bits_per_key <= 32; ++bits_per_key) {
    progress("rates at " + std::to_string(bits_per_key) + " bits per key");
    const uint64_t bits = (keys * bits_per_key + 7) / 8 * 8;
    for (uint32_t k = 1; k <= 8; ++k) {
      const uint64_t classic = CountClassic(keys, queries, bits, k, seed);
      const uint64_t ideal = CountIdeal(keys, queries, bits, k, seed);
      rows.push_back({
          {"bits_per_key", bits_per_key},
          {"k", k},
          {"keys", keys},
          {"theory", FalsePositiveRate(bits, keys, k)},
          {"theory_finite", FalsePositiveRateFinite(bits, keys, k)},
          {"classic",
           static_cast<double>(classic) / static_cast<double>(queries)},
          {"classic_error", RateError(classic, queries)},
          {"ideal", static_cast<double>(ideal) / static_cast<double>(queries)},
          {"ideal_error", RateError(ideal, queries)},
      });
    }
  }
  return rows;
}

Rows StudyGrowth(uint64_t max_keys, uint64_t queries, uint64_t seed,
                 const Progress& progress) {
  Rows rows = Rows::array();
  for (uint64_t keys = 1000; keys <= max_keys;
       keys = keys % 3 == 0 ? keys / 3 * 10 : keys * 3) {
    progress("growth, " + std::to_string(keys) + " keys");
    for (const LayoutRow* const* row = internal::kLayouts; *row != nullptr;
         ++row) {
      if ((*row)->classic_hash != Hash::kMurmurHash2) continue;
      FilterOptions options;
      options.layout = (*row)->layout;
      FilterBuilder builder(options);
      for (uint64_t i = 0; i < keys; ++i)
        builder.AddKey(NumberKey(i, seed).view());
      std::string bytes;
      builder.Finish(&bytes);
      const Filter filter(bytes);
      uint64_t hits = 0;
      for (uint64_t i = 0; i < queries; ++i) {
        hits += filter.MayMatch(NumberKey(keys + i, seed).view());
      }
      rows.push_back({
          {"layout", (*row)->name},
          {"keys", keys},
          {"stored_bits_per_key",
           8.0 * static_cast<double>(bytes.size()) / static_cast<double>(keys)},
          {"false_positive_rate",
           static_cast<double>(hits) / static_cast<double>(queries)},
          {"error", RateError(hits, queries)},
      });
    }
  }
  return rows;
}

}  // namespace deltabloom::study
