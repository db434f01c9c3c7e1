// The last step of building a compact filter: from equations to columns.
#ifndef DELTABLOOM_UTIL_LAYOUTS_COMPACT_SOLVE_H_
#define DELTABLOOM_UTIL_LAYOUTS_COMPACT_SOLVE_H_

#include <cstdint>

#include "util/layouts/compact/shape.h"

namespace deltabloom::internal::compact {

// Fingerprint: the smallest unsigned integer of at least shape.columns bits.
//
// Solves the triangular system from the last row to the first, free rows
// being 0, and writes the columns of every block.
template <typename Fingerprint>
void Solve(const Shape& shape, Cpu cpu, const uint64_t* coefficients,
           const Fingerprint* fingerprints, unsigned char* columns);

}  // namespace deltabloom::internal::compact

#endif  // DELTABLOOM_UTIL_LAYOUTS_COMPACT_SOLVE_H_
