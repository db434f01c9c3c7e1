#if defined(__x86_64__)

#include <immintrin.h>

// gcc 12 takes the undefined vectors inside its own intrinsics for variables
// that were forgotten (gcc bug 105593).
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#define DELTABLOOM_TARGET \
  __attribute__((         \
      target("avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi,bmi2,popcnt")))

#include "util/local_avx512-inl.h"
#include "util/local_simd-inl.h"

namespace deltabloom::internal {

const LocalKernels& LocalAvx512() { return kKernels; }

}  // namespace deltabloom::internal

#endif  // defined(__x86_64__)
