// What the bits of a classic filter tell of its keys.
#ifndef DELTABLOOM_UTIL_LAYOUTS_CLASSIC_ESTIMATE_H_
#define DELTABLOOM_UTIL_LAYOUTS_CLASSIC_ESTIMATE_H_

#include "util/layouts/layout.h"

namespace deltabloom::internal::classic {

// Keys from the share of set bits among at most 64 lines of 64 bytes, spread
// evenly (KeysFromSetBits): a standard error of 1 %. Up to kSoundKeys the rate
// is that share to the power of the number of probes; beyond, where the probes
// fall on each other, it is counted where it is high enough: of 8,192 hashes,
// how many match, so that a rate of 1 % has a standard error of a ninth. Below
// .25 % it is the former, up to two times too low (docs/design.md, classic).
// Either way with the chance that a key shares its hash of 32 bits with one of
// the filter's.
inline constexpr double kSoundKeys = 30'000;
FilterEstimate EstimateFilter(const ParsedFilter& parsed);

}  // namespace deltabloom::internal::classic

#endif  // DELTABLOOM_UTIL_LAYOUTS_CLASSIC_ESTIMATE_H_
