// The AVX-512 kernels of compact over SIMDe's emulation of the intrinsics, in
// the place of the native ones: so they are tested on CPUs without AVX-512.
#define SIMDE_NO_NATIVE
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>

#define DELTABLOOM_TARGET

#include "tests/compact/simde_masked_load.h"
#include "util/layouts/compact/avx512-inl.h"
//
#include "util/layouts/compact/simd-inl.h"

namespace deltabloom::internal::compact {

const Kernels& Avx512() { return kKernels; }

}  // namespace deltabloom::internal::compact
