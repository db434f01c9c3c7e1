// The last step of building a compact filter: from equations to columns.
#ifndef DELTABLOOM_UTIL_COMPACT_SOLVE_H_
#define DELTABLOOM_UTIL_COMPACT_SOLVE_H_

#include <cstdint>

#include "util/compact_geometry.h"
#include "util/cpu_level.h"

namespace deltabloom::internal {

// Fingerprint: the smallest unsigned integer of at least geometry.columns bits.
//
// Solves the triangular system from the last row to the first, free rows
// being 0, and writes the columns of every block.
template <typename Fingerprint>
void SolveCompact(const CompactGeometry& geometry, CpuLevel level,
                  const uint64_t* coefficients, const Fingerprint* fingerprints,
                  unsigned char* columns);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_UTIL_COMPACT_SOLVE_H_
