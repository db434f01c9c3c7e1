// Dividing bytes among the filters of a set of cuts.
#pragma once

#include <cstddef>
#include <vector>

#include "util/range/candidates.h"
#include "util/range/patterns.h"

namespace deltabloom::internal::range {

// The sizes of the filters of candidates, each computed once.
class FilterSizes {
 public:
  // The candidates must outlive this.
  explicit FilterSizes(const std::vector<Candidate>& candidates)
      : candidates_(candidates), bytes_(candidates.size()) {}

  // Returns the bytes of the filter of this candidate, 0 without bits.
  double BytesOf(size_t candidate, unsigned bits);

 private:
  const std::vector<Candidate>& candidates_;
  std::vector<std::vector<double>> bytes_;  // by candidate and bits
};

struct Division {
  std::vector<unsigned> bits;  // per prefix, of each cut in the set
  double passing = 0;          // of the weight of all samples
  double bytes_left = 0;
};

// Divides `bytes` among the cuts of a set, candidates by their numbers, beyond
// the bits that they have. The next bit per prefix goes to the cut at which a
// byte keeps the most weight of samples from passing, until no bit can be paid
// or no more than the share `enough` of the weight passes.
Division DivideBytes(const std::vector<size_t>& set,
                     const std::vector<Pattern>& patterns, double bytes,
                     double enough, std::vector<unsigned> bits,
                     FilterSizes* sizes);

}  // namespace deltabloom::internal::range
