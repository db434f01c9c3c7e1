#if defined(__x86_64__)

#include <immintrin.h>

#define DELTABLOOM_TARGET __attribute__((target("avx2,bmi,bmi2,popcnt")))

// The comparison, then the lookups made of it.
#include "util/compact_avx2-inl.h"
//
#include "util/compact_lookup-inl.h"

namespace deltabloom::internal {

const CompactLookups& CompactAvx2() { return Lookups(); }

}  // namespace deltabloom::internal

#endif  // defined(__x86_64__)
