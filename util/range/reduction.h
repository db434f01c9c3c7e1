// The reduction of Grafite: see numbers.h.
#ifndef DELTABLOOM_UTIL_RANGE_REDUCTION_H_
#define DELTABLOOM_UTIL_RANGE_REDUCTION_H_

#include <cstdint>

#include "util/hash64.h"

namespace deltabloom::internal::range {

// q of a block of `universe` numbers: where it begins. The first stays in its
// place.
inline uint64_t BlockShift(uint64_t block, uint64_t universe) {
  if (block == 0) return 0;
  return ScaleHash(Remix64(block, 0), universe);
}

inline uint64_t Reduced(uint64_t number, uint64_t universe) {
  const uint64_t block = number / universe;
  const uint64_t sum = number - block * universe + BlockShift(block, universe);
  return sum < universe ? sum : sum - universe;
}

}  // namespace deltabloom::internal::range

#endif  // DELTABLOOM_UTIL_RANGE_REDUCTION_H_
