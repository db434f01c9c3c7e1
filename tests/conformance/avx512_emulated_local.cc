// As avx512_emulated.cc, for the layout local.
#define SIMDE_NO_NATIVE
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>

#define DELTABLOOM_TARGET

#include "util/local_avx512-inl.h"
#include "util/local_simd-inl.h"

namespace deltabloom::internal {

const LocalKernels& LocalAvx512() { return kKernels; }

}  // namespace deltabloom::internal
