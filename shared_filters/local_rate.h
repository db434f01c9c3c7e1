// The size of a filter of the layout local that is filled later.
#ifndef DELTABLOOM_SHARED_FILTERS_LOCAL_RATE_H_
#define DELTABLOOM_SHARED_FILTERS_LOCAL_RATE_H_

#include <cstdint>

#include "util/layouts/local/local.h"

namespace deltabloom::internal {

struct LocalSize {
  uint64_t blocks;  // 0: there is none
  local::Probes probes;
};

// The smallest size at which `keys` keys have a rate of at most `rate`, of 1 to
// 8 probes in one block; of 8 in each of two where that saves a twentieth of
// the bits. (Other numbers of probes in two blocks would save up to 4 % more
// between rates of .001 and .0001.) 0 blocks if none of up to 1,000 bits per
// key will do.
LocalSize LocalSizeForRate(uint64_t keys, double rate);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_SHARED_FILTERS_LOCAL_RATE_H_
