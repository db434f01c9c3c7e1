#if defined(__x86_64__)

#include <immintrin.h>

#include "util/cpu.h"

#define DELTABLOOM_TARGET DELTABLOOM_TARGET_AVX2

// The comparison, then the kernels made of it.
#include "util/layouts/compact/avx2-inl.h"
//
#include "util/layouts/compact/simd-inl.h"

namespace deltabloom::internal::compact {

const Kernels& Avx2() { return kKernels; }

}  // namespace deltabloom::internal::compact

#endif  // defined(__x86_64__)
