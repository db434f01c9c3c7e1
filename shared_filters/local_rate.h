// The false-positive rate of the layout local (docs/format.md), in theory: what
// sizes a filter that is filled later.
#ifndef DELTABLOOM_SHARED_FILTERS_LOCAL_RATE_H_
#define DELTABLOOM_SHARED_FILTERS_LOCAL_RATE_H_

#include <cstdint>
#include <vector>

namespace deltabloom::internal {

struct LocalProbes {
  uint32_t first;   // in a key's block, 1..8
  uint32_t second;  // in the next block, 0..8
};

struct LocalSize {
  uint64_t blocks;  // 0: there is none
  LocalProbes probes;
};

// The expected rate of filters with such probes, over all keys and all places
// of their bits. Exact, but that three neighbouring blocks count as different.
//
// Inclusion and exclusion over the sets T of bits that an absent key asks for:
// the chance that all are set is the sum over T of (-1)^|T| times the chance
// that no key sets a bit of T. Of one stored key in one of `blocks` blocks,
// that is 1 - c(T) / blocks, where c(T) depends on which sectors T has.
class LocalRate {
 public:
  explicit LocalRate(LocalProbes probes);

  double operator()(uint64_t keys, uint64_t blocks) const;

 private:
  // Sets T of equal c(T) together.
  struct Term {
    double weight;
    double c;
  };
  std::vector<Term> terms_;
};

// The smallest size at which `keys` keys have a rate of at most `rate`, of 1 to
// 8 probes in one block; of 8 in each of two where that saves a twentieth of
// the bits. (Other numbers of probes in two blocks would save up to 4 % more
// between rates of .001 and .0001.) 0 blocks if none of up to 1,000 bits per
// key will do.
LocalSize LocalSizeForRate(uint64_t keys, double rate);

// The chance that a key has the very bits of another in its block: of the 64
// bits of its hash, 35 choose them.
double LocalHashRate(double keys, uint64_t blocks);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_SHARED_FILTERS_LOCAL_RATE_H_
