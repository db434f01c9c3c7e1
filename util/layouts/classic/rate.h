// The false-positive rate of a classic filter. Its probes depend on each other
// (docs/design.md), in a way that no formula here tells, so what they add to
// the rate is a table, measured by `script/study classic`.
#ifndef DELTABLOOM_UTIL_LAYOUTS_CLASSIC_RATE_H_
#define DELTABLOOM_UTIL_LAYOUTS_CLASSIC_RATE_H_

#include <cstdint>

#include "util/layouts/layout.h"

namespace deltabloom::internal::classic {

// Numbers of keys and of probes that were measured, ascending.
inline constexpr uint64_t kMeasuredKeys[] = {
    1, 10, 100, 1000, 10000, 30000, 100000, 300000, 1000000};
inline constexpr uint32_t kMeasuredProbes[] = {2,  3,  4,  5,  6,  7,  8, 9,
                                               10, 11, 12, 14, 17, 22, 30};

// With probes that are independent, and one hash in 2^32 shared with each key.
double RateWithoutExcess(const AnyShape& shape, uint64_t keys);

// For the rows, which say what it does.
double Rate(const AnyShape& shape, uint64_t keys);

}  // namespace deltabloom::internal::classic

#endif  // DELTABLOOM_UTIL_LAYOUTS_CLASSIC_RATE_H_
