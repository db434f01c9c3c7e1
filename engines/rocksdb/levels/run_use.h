// Measures the share of lookups that query each run of a tree for keys that it
// does not hold. These shares are the weights of runs; they come from the
// statistics of policies.
#pragma once

#include <map>
#include <memory>

#include "engines/rocksdb/levels/tree_bits.h"
#include "engines/rocksdb/statistics/statistics.h"

namespace deltabloom::internal {

// Counts lookups in the filters of one origin.
struct OriginLookups {
  double lookups = 0;
  double absent = 0;  // negatives and expected false positives
};

// Measures the weights of TreeBits::SetUse(). Not thread-safe.
class RunUseCounter {
 public:
  // Runs count alike until this many lookups were counted. The smallest weight
  // that decides anything is 1 in 1,000 (kNeededUse in tree_bits.h): it is then
  // ten lookups, with a standard error of a third, or half a bit per key.
  static constexpr double kLeastLookups = 10'000;
  // After this many lookups earlier ones count half. That is a hundred times
  // kLeastLookups, so that a weight of 1 in 1,000 is known to 3 %.
  static constexpr double kHalfLife = 1'000'000;

  // Takes what `source`, the statistics of a policy, and the sources of earlier
  // calls have counted since the last call. A copy of a policy is a source of
  // its own. REQUIRES: filters_per_lookup is TreeFiles::FiltersPerLookup() of
  // the tree. Throws std::bad_alloc.
  void Update(const std::shared_ptr<PolicyStatistics>& source,
              const std::map<int, double>& filters_per_lookup);

  // Forgets all that was counted, and what `source`, which may be null, and
  // earlier sources have counted until now. Throws std::bad_alloc; then nothing
  // is forgotten.
  void Forget(const std::shared_ptr<PolicyStatistics>& source);

  // Does what Update() does, for given lookups by origin. Lookups of
  // kUnknownOrigin are in tables that were written elsewhere, which count as
  // the last run.
  void Count(std::map<int, OriginLookups> lookups,
             const std::map<int, double>& filters_per_lookup);

  // Returns an empty map as long as there are too few lookups.
  const RunUse& use() const { return use_; }

 private:
  // Queries of the filters of an origin. Older ones are partly forgotten.
  struct Queries {
    double absent = 0;  // those for keys that are not in the run
    double most = 0;    // those that there would be if no lookup found its key
  };

  // The policies, each with the counters that were taken last.
  std::map<std::weak_ptr<PolicyStatistics>, FilterRows, std::owner_less<>>
      sources_;
  std::map<int, Queries> queries_;  // by origin
  double lookups_ = 0;  // the number that counts; older ones count less
  RunUse use_;
};

}  // namespace deltabloom::internal
