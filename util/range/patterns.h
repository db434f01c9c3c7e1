// Samples, put together where a set of cuts cannot tell them apart.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "util/range/candidates.h"
#include "util/range/cut.h"

namespace deltabloom::internal::range {

// Samples that ask each cut of a set for the same number of prefixes, as one.
struct Pattern {
  double weight = 0;
  std::array<uint8_t, kMaxCuts> asks = {};  // prefixes, of each cut in the set
};

// Some samples, divided by what they ask of a growing set of cuts.
class Patterns {
 public:
  // `weights`: those of all samples, of which [first, last) count; they must
  // outlive this. The set of cuts is empty.
  Patterns(const std::vector<double>& weights, size_t first, size_t last);

  const std::vector<Pattern>& Get() const { return patterns_; }

  // Returns what Get() would return with one more cut.
  std::vector<Pattern> With(const Candidate& cut) const;
  void Add(const Candidate& cut);

  // Returns the weight of those samples that ask this cut for some prefixes.
  // `shares`: of each pattern, how much of its weight counts.
  double WeightAsking(const Candidate& cut,
                      const std::vector<double>& shares) const;

 private:
  std::vector<Pattern> Divided(const Candidate& cut,
                               std::vector<size_t>* place) const;

  const std::vector<double>& weights_;
  const size_t first_;
  size_t cuts_ = 0;                 // in the set
  std::vector<size_t> pattern_of_;  // of each sample
  std::vector<Pattern> patterns_;
};

}  // namespace deltabloom::internal::range
