#if defined(__x86_64__)

#include <immintrin.h>

// gcc 12 takes the undefined vectors inside its own intrinsics for variables
// that were forgotten (gcc bug 105593).
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#include "util/cpu.h"

#define DELTABLOOM_TARGET DELTABLOOM_TARGET_AVX512_VPOPCNTDQ

// The comparison, then the kernels made of it.
#include "util/layouts/compact/avx512-inl.h"
//
#include "util/layouts/compact/simd-inl.h"

namespace deltabloom::internal::compact {

const Kernels& Avx512() { return kKernels; }

}  // namespace deltabloom::internal::compact

#endif  // defined(__x86_64__)
