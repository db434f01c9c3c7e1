#include "engines/rocksdb/levels/run_use.h"

#include <algorithm>
#include <cmath>

namespace deltabloom::internal {
namespace {

// Lookups between two updates.
constexpr double kLookupsPerUpdate = 1000;

// Below this share of lookups in filters of unknown rate the others are enough.
constexpr double kMostUnknown = 0.01;

constexpr double kLeastUse = 1e-6;

}  // namespace

void RunUseCounter::AddSource(const std::shared_ptr<PolicyStatistics>& source) {
  const bool known = std::any_of(
      sources_.begin(), sources_.end(),
      [&](const Source& one) { return one.statistics.lock() == source; });
  if (!known) sources_.push_back({source, {}});
}

void RunUseCounter::Update(const std::map<int, double>& weights) {
  std::map<int, OriginLookups> added;
  std::vector<Source> now;
  double all = 0;
  double unknown = 0;
  for (const Source& source : sources_) {
    const auto statistics = source.statistics.lock();
    if (statistics == nullptr) continue;
    now.push_back({source.statistics, statistics->LookupsSinceStart()});
    for (const auto& [filter_class, totals] : now.back().seen) {
      const auto found = source.seen.find(filter_class);
      const LookupTotals before =
          found == source.seen.end() ? LookupTotals() : found->second;
      const auto lookups = static_cast<double>(totals.lookups - before.lookups);
      all += lookups;
      if (filter_class.name == kForeignName ||
          filter_class.name == kAlwaysName) {
        unknown += lookups;
        continue;
      }
      const int origin = filter_class.level < 0    ? kUnknownOrigin
                         : filter_class.bottommost ? kBottommost
                                                   : filter_class.level;
      OriginLookups& to = added[origin];
      to.lookups += lookups;
      to.absent += static_cast<double>(totals.negatives - before.negatives) +
                   totals.expected - before.expected;
    }
  }
  if (all < kLookupsPerUpdate && now.size() == sources_.size()) return;
  sources_ = std::move(now);
  if (unknown <= kMostUnknown * all) Count(std::move(added), weights);
}

void RunUseCounter::Count(std::map<int, OriginLookups> lookups,
                          const std::map<int, double>& weights) {
  OriginLookups& last = lookups[kBottommost];
  last.lookups += lookups[kUnknownOrigin].lookups;
  last.absent += lookups[kUnknownOrigin].absent;
  // Each lookup finds its key in one run, or asks the last one in vain.
  double count = std::min(last.absent, last.lookups);
  for (const auto& [origin, of] : lookups) {
    if (origin == kUnknownOrigin) continue;
    count += std::max(of.lookups - of.absent, 0.0);
  }
  const double kept = std::exp2(-count / kHalfLife);
  lookups_ = kept * lookups_ + count;
  for (const auto& [origin, weight] : weights) {
    Asked& asked = asked_[origin];
    asked.absent = kept * asked.absent + lookups[origin].absent;
    asked.most = kept * asked.most + count * weight;
  }
  if (lookups_ < kLeastLookups) return;
  for (const auto& [origin, asked] : asked_) {
    if (!(asked.most > 0)) continue;
    const double use = std::clamp(asked.absent / asked.most, kLeastUse, 1.0);
    const auto [known, added] = use_.try_emplace(origin, use);
    const double change = use / known->second;
    if (!added && change <= kHysteresis && change >= 1 / kHysteresis) continue;
    known->second = use;
  }
}

}  // namespace deltabloom::internal
