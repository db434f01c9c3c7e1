#if defined(__x86_64__)

#include <immintrin.h>

// gcc 12 takes the undefined vectors inside its own intrinsics for variables
// that were forgotten (gcc bug 105593).
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#define DELTABLOOM_TARGET                                                   \
  __attribute__((                                                           \
      target("avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq,avx2,bmi," \
             "bmi2,popcnt")))

// The comparison, then the lookups made of it.
#include "util/compact_avx512-inl.h"
//
#include "util/compact_lookup-inl.h"

namespace deltabloom::internal {

const CompactLookups& CompactAvx512() { return Lookups(); }

}  // namespace deltabloom::internal

#endif  // defined(__x86_64__)
