// What the bits of a local filter tell of its keys.
#ifndef DELTABLOOM_UTIL_LAYOUTS_LOCAL_ESTIMATE_H_
#define DELTABLOOM_UTIL_LAYOUTS_LOCAL_ESTIMATE_H_

#include "util/layouts/layout.h"

namespace deltabloom::internal::local {

// From at most 128 blocks, spread evenly, and those behind them where keys have
// two. Keys from the share of set bits (KeysFromSetBits): at 10 bits per key a
// standard error of 1.2 %. The rate is the mean of what each of these blocks
// answers to all keys that fall on it: a standard error of 6 % at 10 bits per
// key, of 10 % at 20. Smaller filters are read whole, and their rate is exact
// but for the product of a key's bits within a block, which is taken for
// random.
FilterEstimate EstimateFilter(const ParsedFilter& parsed);

}  // namespace deltabloom::internal::local

#endif  // DELTABLOOM_UTIL_LAYOUTS_LOCAL_ESTIMATE_H_
