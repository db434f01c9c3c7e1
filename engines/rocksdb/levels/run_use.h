// How many of the lookups of a column family ask a run for keys that it does
// not hold: the weights of TreeBits::SetUse(), from the lookups that policies
// count.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_LEVELS_RUN_USE_H_
#define DELTABLOOM_ENGINES_ROCKSDB_LEVELS_RUN_USE_H_

#include <map>
#include <memory>
#include <vector>

#include "engines/rocksdb/levels/tree_bits.h"
#include "engines/rocksdb/statistics/statistics.h"

namespace deltabloom::internal {

// Lookups of the filters of an origin, and how many of them were for keys that
// the filter does not hold: the negatives and the false positives to be
// expected beside them.
struct OriginLookups {
  double lookups = 0;
  double absent = 0;
};

// Not thread-safe.
class RunUseCounter {
 public:
  // Fewer lookups say nothing: then runs count alike.
  static constexpr double kLeastLookups = 10'000;
  // After so many lookups earlier ones count half.
  static constexpr double kHalfLife = 1'000'000;
  // A weight changes only by more than this factor.
  static constexpr double kHysteresis = 1.25;

  // What the policy counted and counts is added by Update(). A copy of a policy
  // is another source beside it.
  void AddSource(const std::shared_ptr<PolicyStatistics>& source);

  // Takes what sources counted since the last call; weights are those of
  // TreeBits::Weights(). Throws std::bad_alloc.
  void Update(const std::map<int, double>& weights);

  // The same for given lookups, by origin. Those of kUnknownOrigin are of
  // tables that were written elsewhere, which count as the last run.
  void Count(std::map<int, OriginLookups> lookups,
             const std::map<int, double>& weights);

  // Empty as long as there are too few lookups.
  const RunUse& use() const { return use_; }
  // Those that count, as far as they are not forgotten.
  double lookups() const { return lookups_; }

 private:
  using Totals = std::map<FilterClass, LookupTotals>;
  struct Source {
    std::weak_ptr<PolicyStatistics> statistics;
    Totals seen;
  };
  // Absent keys that were asked for, and how many there would be if no lookup
  // found its key.
  struct Asked {
    double absent = 0;
    double most = 0;
  };

  std::vector<Source> sources_;
  std::map<int, Asked> asked_;  // by origin
  double lookups_ = 0;
  RunUse use_;
};

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_LEVELS_RUN_USE_H_
