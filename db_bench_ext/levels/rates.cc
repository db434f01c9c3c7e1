#include "db_bench_ext/levels/rates.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "db_bench_ext/levels/keys.h"
#include "engines/rocksdb/policy/private_abi.h"

namespace deltabloom::levels {
namespace {

// The grid of sizes, in quarters of a bit asked for.
constexpr int kLeastQuarters = 4;
constexpr int kMostQuarters = 160;

struct Filter {
  std::unique_ptr<const char[]> memory;
  rocksdb::Slice bytes;
};

Filter Build(const rocksdb::FilterPolicy& policy, uint64_t first_key,
             uint64_t keys, uint64_t seed) {
  rocksdb::BlockBasedTableOptions table;
  table.optimize_filters_for_memory = false;
  const auto builder = internal::NewBitsBuilder(policy, table);
  Filter filter;
  if (builder == nullptr) return filter;
  for (uint64_t i = 0; i < keys; ++i) {
    builder->AddKey(Key(first_key + i, seed).slice());
  }
  rocksdb::Status status;
  filter.bytes = builder->Finish(&filter.memory, &status);
  if (!status.ok()) throw std::runtime_error(status.ToString());
  return filter;
}

// How many of `queries` keys from `first_key` on a filter lets through.
uint64_t Ask(const rocksdb::FilterPolicy& policy, const rocksdb::Slice& filter,
             uint64_t first_key, uint64_t queries, uint64_t seed) {
  constexpr int kBatch = 32;
  const auto reader = internal::NewBitsReader(policy, filter);
  uint64_t matches = 0;
  for (uint64_t i = 0; i < queries; i += kBatch) {
    std::vector<Key> keys;
    rocksdb::Slice slices[kBatch];
    rocksdb::Slice* pointers[kBatch];
    bool may_match[kBatch];
    keys.reserve(kBatch);
    for (uint64_t j = 0; j < kBatch; ++j) {
      keys.emplace_back(first_key + i + j, seed);
      slices[j] = keys.back().slice();
      pointers[j] = &slices[j];
    }
    reader->MayMatch(kBatch, pointers, may_match);
    matches +=
        static_cast<uint64_t>(std::count(may_match, may_match + kBatch, true));
  }
  return matches;
}

// Two digits of a number of keys: filters of about as many keys share a rate.
uint64_t RoundedKeys(uint64_t keys, uint64_t many) {
  if (keys >= many / 8) return many;
  uint64_t step = 1;
  while (keys / step >= 100) step *= 10;
  return std::max<uint64_t>(1, (keys + step / 2) / step * step);
}

std::string Name(const Kind& kind, double bits, uint64_t keys) {
  return std::string("measuring ") + kind.name + " of " + std::to_string(keys) +
         " keys, " + std::to_string(bits) + " bits";
}

}  // namespace

Rates::Rates(Effort effort, uint64_t seed,
             std::function<void(const std::string&)> progress)
    : effort_(effort),
      seed_(seed),
      progress_(std::move(progress)),
      next_key_(kFirstApart) {}

uint64_t Rates::Bytes(const Kind& kind, double bits_asked, uint64_t keys) {
  const PolicyPointer policy = kind.make(bits_asked);
  return Build(*policy, kFirstApart, keys, seed_).bytes.size();
}

uint64_t Rates::GridBytes(const Kind& kind, int quarters, uint64_t keys) {
  const auto [found, added] =
      bytes_.try_emplace(Place(kind.name, quarters, keys), 0);
  if (added) found->second = Bytes(kind, quarters / 4.0, keys);
  return found->second;
}

double Rates::BitsToAsk(const Kind& kind, double bits_per_key, uint64_t keys) {
  if (bits_per_key < 1) return 0;
  // Sizes of small filters have steps, of which the upper end is the best to
  // ask for: more probes for the same bytes.
  const uint64_t about = RoundedKeys(keys, kManyKeys);
  const auto size = [&](int quarters) {
    return static_cast<double>(GridBytes(kind, quarters, about));
  };
  const double want = std::max(bits_per_key * static_cast<double>(about) / 8,
                               size(kLeastQuarters));
  int low = std::clamp(static_cast<int>(4 * bits_per_key / kind.stored_share),
                       kLeastQuarters, kMostQuarters);
  while (low > kLeastQuarters && size(low) > want) --low;
  while (low < kMostQuarters && size(low + 1) <= want) ++low;
  if (low == kMostQuarters || about < kManyKeys) return low / 4.0;
  return (low + (want - size(low)) / (size(low + 1) - size(low))) / 4;
}

Rate Rates::Measure(const Kind& kind, double bits_asked, uint64_t keys,
                    const Effort& effort) {
  const PolicyPointer policy = kind.make(bits_asked);
  // As many filters as show how much they differ, where that matters.
  const uint64_t filters =
      effort.spread ? std::clamp<uint64_t>(2 * kManyKeys / keys, 4, 64) : 1;
  // A filter whose rate is r has seen what it should after so many queries.
  constexpr uint64_t kStep = 32 * 1024;
  std::vector<Filter> built;
  for (uint64_t i = 0; i < filters; ++i) {
    built.push_back(Build(*policy, next_key_, keys, seed_));
    next_key_ += keys;
  }
  if (built[0].bytes.empty()) return {};
  std::vector<double> matches(filters, 0);
  double all = 0;
  uint64_t each = 0;
  while (all < static_cast<double>(effort.false_positives) &&
         each * filters < effort.queries) {
    for (uint64_t i = 0; i < filters; ++i) {
      const auto found = static_cast<double>(
          Ask(*policy, built[i].bytes, next_key_, kStep, seed_));
      next_key_ += kStep;
      matches[i] += found;
      all += found;
    }
    each += kStep;
  }
  const auto queries = static_cast<double>(each);
  Rate rate;
  rate.mean = all / (queries * static_cast<double>(filters));
  double variance = 0;
  for (const double found : matches) {
    const double difference = found / queries - rate.mean;
    variance += difference * difference;
  }
  variance /= std::max(1.0, static_cast<double>(filters - 1));
  const double counting = rate.mean * (1 - rate.mean) / queries;
  rate.spread = std::sqrt(std::max(0.0, variance - counting));
  rate.error =
      std::sqrt(std::max(variance, counting) / static_cast<double>(filters));
  return rate;
}

const Rates::Point& Rates::Measured(const Kind& kind, int quarters,
                                    uint64_t keys) {
  const Place place(kind.name, quarters, keys);
  const auto found = points_.find(place);
  if (found != points_.end()) return found->second;
  progress_(Name(kind, quarters / 4.0, keys));
  Point point;
  point.bytes = static_cast<double>(GridBytes(kind, quarters, keys));
  point.rate = Measure(kind, quarters / 4.0, keys, effort_);
  progress_("");
  return points_.emplace(place, point).first->second;
}

Rate Rates::Of(const BuiltFilter& filter) {
  if (filter.bytes == 0 || filter.keys == 0) return {};
  const uint64_t keys = RoundedKeys(filter.keys, kManyKeys);
  const double bytes = static_cast<double>(filter.bytes) /
                       static_cast<double>(filter.keys) *
                       static_cast<double>(keys);
  // The last size of the grid that is not above, and the first above it.
  const double bits = 8 * bytes / static_cast<double>(keys);
  int low = std::clamp(static_cast<int>(4 * bits / filter.kind->stored_share),
                       kLeastQuarters, kMostQuarters);
  const auto size = [&](int quarters) {
    return static_cast<double>(GridBytes(*filter.kind, quarters, keys));
  };
  while (low > kLeastQuarters && size(low) > bytes) --low;
  while (low < kMostQuarters && size(low + 1) <= bytes) ++low;
  const Point& below = Measured(*filter.kind, low, keys);
  if (below.bytes >= bytes || low == kMostQuarters) return below.rate;
  const Point& above = Measured(*filter.kind, low + 1, keys);
  const double share = (bytes - below.bytes) / (above.bytes - below.bytes);
  const auto between = [&](double a, double b) {
    return a > 0 && b > 0
               ? std::exp((1 - share) * std::log(a) + share * std::log(b))
               : (1 - share) * a + share * b;
  };
  Rate rate;
  rate.mean = between(below.rate.mean, above.rate.mean);
  rate.spread = between(below.rate.spread, above.rate.spread);
  rate.error =
      std::hypot((1 - share) * below.rate.error, share * above.rate.error);
  return rate;
}

std::vector<CurvePoint> Rates::MeasureCurve(const Kind& kind, uint64_t keys) {
  const Effort rough = {2000, std::min<uint64_t>(effort_.queries / 4, 500'000),
                        false};
  constexpr int kStep = 2;
  // Rates below were seen in too few keys: the curve is continued instead.
  constexpr double kLeastRate = 4e-5;
  constexpr double kMostBits = 60;
  std::vector<CurvePoint> curve = {{0, 1}};
  for (int quarters = kLeastQuarters; quarters <= kMostQuarters;
       quarters += kStep) {
    progress_(Name(kind, quarters / 4.0, keys));
    const double bits = 8 *
                        static_cast<double>(GridBytes(kind, quarters, keys)) /
                        static_cast<double>(keys);
    const double rate =
        std::max(kLeastRate, Measure(kind, quarters / 4.0, keys, rough).mean);
    if (rate >= curve.back().rate) continue;
    // Of the sizes asked for that have the same bytes the last is the best.
    if (bits <= curve.back().bits_per_key) curve.pop_back();
    curve.push_back({bits, rate});
    if (rate <= kLeastRate) break;
  }
  progress_("");
  // On as over the last bits.
  const CurvePoint last = curve.back();
  const CurvePoint& before =
      curve[curve.size() - std::min<size_t>(6, curve.size())];
  const double slope = std::log(last.rate / before.rate) /
                       (last.bits_per_key - before.bits_per_key);
  for (double bits = 0.5; last.bits_per_key + bits <= kMostBits; bits += 0.5) {
    curve.push_back(
        {last.bits_per_key + bits, last.rate * std::exp(slope * bits)});
  }
  return curve;
}

const std::vector<CurvePoint>& Rates::Curve(const Kind& kind, uint64_t keys) {
  // Filters of about as many keys share one.
  uint64_t about = 1;
  while (about * 2 <= std::min(keys, kManyKeys)) about *= 2;
  if (about >= kManyKeys / 8) about = kManyKeys;
  const auto [found, added] = curves_.try_emplace({kind.name, about});
  if (added) found->second = MeasureCurve(kind, about);
  return found->second;
}

}  // namespace deltabloom::levels
