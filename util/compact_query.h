// Lookups in compact filters.
#ifndef DELTABLOOM_UTIL_COMPACT_QUERY_H_
#define DELTABLOOM_UTIL_COMPACT_QUERY_H_

#include <cstdint>

#include "deltabloom/filter.h"
#include "util/compact_geometry.h"
#include "util/cpu_level.h"

namespace deltabloom::internal {

// Sets the lookup functions and what they need in parsed->geometry. The
// payload is one that `geometry` fits.
void SetCompactLookup(const CompactGeometry& geometry, CpuLevel level,
                      ParsedFilter* parsed);

bool CompactMayMatchHash(const ParsedFilter& parsed, uint64_t hash);

// The geometry of a filter for which SetCompactLookup was called.
CompactGeometry CompactGeometryOf(const ParsedFilter& parsed);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_UTIL_COMPACT_QUERY_H_
