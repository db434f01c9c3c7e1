// Measures the share of lookups that query each run of a tree for keys that it
// does not hold. These shares are the weights of runs; they come from the
// statistics of policies.
#pragma once

#include <map>
#include <memory>

#include "engines/rocksdb/levels/tree_bits.h"
#include "engines/rocksdb/statistics/statistics.h"

namespace deltabloom::internal {

// Lookups in the filters of one origin; `absent` is negatives plus expected
// false positives.
struct OriginLookups {
  double lookups = 0;
  double absent = 0;
};

// Measures the weights of TreeBits::SetUse(). Not thread-safe.
class RunUseCounter {
 public:
  // Runs count alike until this many lookups were counted. The smallest weight
  // that decides anything is 1 in 1,000 (kNeededUse in tree_bits.h): it is then
  // ten lookups, with a standard error of a third, or half a bit per key.
  static constexpr double kLeastLookups = 10'000;
  // The number of lookups after which earlier ones count half: a hundred times
  // kLeastLookups, so that a weight of 1 in 1,000 is known to 3 %.
  static constexpr double kHalfLife = 1'000'000;

  // Takes what `source`, a policy, and the sources of earlier calls counted
  // since then: a copy of a policy is another source beside it. Weights are
  // those of TreeBits::Weights(). Throws std::bad_alloc.
  void Update(const std::shared_ptr<PolicyStatistics>& source,
              const std::map<int, double>& weights);

  // Does what Update() does, for given lookups by origin. Lookups of
  // kUnknownOrigin are of tables that were written elsewhere, which count as
  // the last run.
  void Count(std::map<int, OriginLookups> lookups,
             const std::map<int, double>& weights);

  // Empty as long as there are too few lookups.
  const RunUse& use() const { return use_; }

 private:
  // Lookups of absent keys, and how many there would be if no lookup found its
  // key.
  struct Asked {
    double absent = 0;
    double most = 0;
  };

  // The rows that were seen of each.
  std::map<std::weak_ptr<PolicyStatistics>, FilterRows, std::owner_less<>>
      sources_;
  std::map<int, Asked> asked_;  // by origin
  double lookups_ = 0;
  RunUse use_;
};

}  // namespace deltabloom::internal
