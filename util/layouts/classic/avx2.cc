#if defined(__x86_64__)

#include <immintrin.h>

#include "util/cpu.h"

#define DELTABLOOM_TARGET DELTABLOOM_TARGET_AVX2

// The vector, then the kernels made of it.
#include "util/layouts/classic/avx2-inl.h"
//
#include "util/layouts/classic/simd-inl.h"

namespace deltabloom::internal::classic {

const Kernels& Avx2MurmurHash2() { return kMurmurHash2Kernels; }
const Kernels& Avx2LevelDBHash() { return kLevelDBHashKernels; }

}  // namespace deltabloom::internal::classic

#endif  // defined(__x86_64__)
