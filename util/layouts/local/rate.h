// The false-positive rate of the layout local (docs/format.md), in theory.
// tests/util/rate_test.cc holds it against filters.
#ifndef DELTABLOOM_UTIL_LAYOUTS_LOCAL_RATE_H_
#define DELTABLOOM_UTIL_LAYOUTS_LOCAL_RATE_H_

#include <cstdint>
#include <vector>

#include "util/layouts/layout.h"

namespace deltabloom::internal::local {

struct Probes {
  uint32_t first;   // in a key's block, 1..8
  uint32_t second;  // in the next block, 0..8
};

// From so many blocks on, a key's block, the one in front and the one behind
// are different ones.
inline constexpr uint64_t kApartFromBlocks = 3;

// The expected rate of filters with such probes, over all keys and all places
// of their bits. Exact, but for two bits of a key that are the same one, as can
// be with probes in two rounds where there is but one block.
//
// Inclusion and exclusion over the sets T of bits that an absent key asks for:
// the chance that all are set is the sum over T of (-1)^|T| times the chance
// that no key sets a bit of T. Of one stored key in one of `blocks` blocks,
// that is 1 - c(T) / blocks, where c(T) depends on which sectors T has.
class RateOfProbes {
 public:
  // For filters of `blocks` blocks, which counts only up to kApartFromBlocks.
  explicit RateOfProbes(Probes probes, uint64_t blocks = kApartFromBlocks);

  double operator()(uint64_t keys, uint64_t blocks) const {
    return At(static_cast<double>(keys), static_cast<double>(blocks));
  }
  double At(double keys, double blocks) const;

 private:
  // Sets T of equal c(T) together.
  struct Term {
    double weight;
    double c;
  };
  template <typename Real>
  double RateByBits(Real keys, Real blocks) const;

  std::vector<Term> terms_;
};

// The chance that a key has the very bits of another in its block: of the 64
// bits of its hash, 35 choose them.
double HashRate(double keys, double blocks);

// For the row, which says what it does.
double Rate(const AnyShape& shape, uint64_t keys);

}  // namespace deltabloom::internal::local

#endif  // DELTABLOOM_UTIL_LAYOUTS_LOCAL_RATE_H_
