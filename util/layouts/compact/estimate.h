// What the shape of a compact filter tells of its keys.
#ifndef DELTABLOOM_UTIL_LAYOUTS_COMPACT_ESTIMATE_H_
#define DELTABLOOM_UTIL_LAYOUTS_COMPACT_ESTIMATE_H_

#include "util/layouts/layout.h"

namespace deltabloom::internal::compact {

// The rate follows from the number of columns and is exact for absent keys as
// random as hashes are: every column is another bit of a fingerprint. The keys
// are those for which a writer chooses so many blocks, to within 32 keys: rows
// come in blocks of 64.
FilterEstimate EstimateFilter(const ParsedFilter& parsed);

}  // namespace deltabloom::internal::compact

#endif  // DELTABLOOM_UTIL_LAYOUTS_COMPACT_ESTIMATE_H_
