#if defined(__x86_64__)

#include <immintrin.h>

#define DELTABLOOM_TARGET __attribute__((target("avx2,bmi,bmi2,popcnt")))

#include "util/classic_avx2-inl.h"

namespace deltabloom::internal {

const ClassicKernels& ClassicAvx2(Hash hash) {
  return hash == Hash::kLevelDB ? kLevelDBHashKernels : kMurmurHash2Kernels;
}

}  // namespace deltabloom::internal

#endif  // defined(__x86_64__)
