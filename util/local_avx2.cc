#if defined(__x86_64__)

#include <immintrin.h>

#define DELTABLOOM_TARGET __attribute__((target("avx2,bmi,bmi2,popcnt")))

#include "util/local_avx2-inl.h"
#include "util/local_simd-inl.h"

namespace deltabloom::internal {

const LocalKernels& LocalAvx2() { return kKernels; }

}  // namespace deltabloom::internal

#endif  // defined(__x86_64__)
