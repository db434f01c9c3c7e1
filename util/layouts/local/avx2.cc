#if defined(__x86_64__)

#include <immintrin.h>

#include "util/cpu.h"

#define DELTABLOOM_TARGET DELTABLOOM_TARGET_AVX2

// The rounds, then the kernels made of them.
#include "util/layouts/local/avx2-inl.h"
//
#include "util/layouts/local/simd-inl.h"

namespace deltabloom::internal::local {

const Kernels& Avx2() { return kKernels; }

}  // namespace deltabloom::internal::local

#endif  // defined(__x86_64__)
