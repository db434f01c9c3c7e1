#include "engines/rocksdb/levels/run_use.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

#include "deltabloom/rocksdb_statistics.h"
#include "engines/rocksdb/levels/tree_bits.h"
#include "engines/rocksdb/levels/tree_files.h"
#include "engines/rocksdb/statistics/statistics.h"

namespace deltabloom::internal {
namespace {

// Lookups in filters of unknown rate are left out. Up to this share of all
// lookups they change the weight of a run that most lookups query by some 1 %,
// and so its bits per key by log2(1.01) = 0.014; smaller weights are less
// exact. If they are more, what was counted since the last update is ignored.
constexpr double kMostUnknown = 0.01;

// The least weight is that of one lookup in kHalfLife, because fewer are not
// counted. A run of weight 0 would have no best bits.
constexpr double kLeastUse = 1 / RunUseCounter::kHalfLife;

}  // namespace

void RunUseCounter::Update(const std::shared_ptr<PolicyStatistics>& source,
                           const std::map<int, double>& filters_per_lookup) {
  sources_.try_emplace(source);
  std::map<int, OriginLookups> added;
  decltype(sources_) now;
  double all = 0;
  double unknown = 0;
  for (auto& [from, seen] : sources_) {
    const auto statistics = from.lock();
    if (statistics == nullptr) continue;
    const FilterRows& rows = now[from] = statistics->RowsSinceStart();
    for (const auto& [filter_class, row] : rows) {
      const RocksDBFilterRow before = seen[filter_class];
      const auto lookups = static_cast<double>(row.lookups - before.lookups);
      all += lookups;
      if (!row.rate_known) {
        unknown += lookups;
        continue;
      }
      const int origin = filter_class.level < 0    ? kUnknownOrigin
                         : filter_class.bottommost ? kBottommost
                                                   : filter_class.level;
      OriginLookups& to = added[origin];
      to.lookups += lookups;
      to.absent += static_cast<double>(row.negatives - before.negatives) +
                   row.expected_false_positives -
                   before.expected_false_positives;
    }
  }
  sources_ = std::move(now);
  if (unknown <= kMostUnknown * all)
    Count(std::move(added), filters_per_lookup);
}

void RunUseCounter::Forget(const std::shared_ptr<PolicyStatistics>& source) {
  if (source != nullptr) sources_.try_emplace(source);
  RunUseCounter forgotten;
  for (const auto& [from, seen] : sources_) {
    const auto statistics = from.lock();
    if (statistics == nullptr) continue;
    forgotten.sources_[from] = statistics->RowsSinceStart();
  }
  *this = std::move(forgotten);
}

void RunUseCounter::Count(std::map<int, OriginLookups> lookups,
                          const std::map<int, double>& filters_per_lookup) {
  OriginLookups& last = lookups[kBottommost];
  last.lookups += lookups[kUnknownOrigin].lookups;
  last.absent += lookups[kUnknownOrigin].absent;
  // Each lookup either finds its key in one run or queries the last run for a
  // key that it does not hold.
  double count = std::min(last.absent, last.lookups);
  for (const auto& [origin, of] : lookups) {
    if (origin == kUnknownOrigin) continue;
    count += std::max(of.lookups - of.absent, 0.0);
  }
  const double kept = std::exp2(-count / kHalfLife);
  lookups_ = kept * lookups_ + count;
  for (const auto& [origin, filters] : filters_per_lookup) {
    Queries& queries = queries_[origin];
    queries.absent = kept * queries.absent + lookups[origin].absent;
    queries.most = kept * queries.most + count * filters;
  }
  if (lookups_ < kLeastLookups) return;
  for (const auto& [origin, queries] : queries_) {
    if (!(queries.most > 0)) continue;
    use_[origin] = std::clamp(queries.absent / queries.most, kLeastUse, 1.0);
  }
}

}  // namespace deltabloom::internal
