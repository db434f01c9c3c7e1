// Shared by the kernels of the layout compact: small functions that compile
// for the instructions of whatever function they are inlined into.
#ifndef DELTABLOOM_UTIL_COMPACT_KERNELS_H_
#define DELTABLOOM_UTIL_COMPACT_KERNELS_H_

#include <cstdint>
#include <utility>

#include "util/compact_geometry.h"

#define DELTABLOOM_ALWAYS_INLINE inline __attribute__((always_inline))
#define DELTABLOOM_TARGET_AVX2 \
  __attribute__((target("avx2,bmi,bmi2,popcnt,lzcnt")))

namespace deltabloom::internal {

// 1 if an odd number of bits is set.
DELTABLOOM_ALWAYS_INLINE uint64_t Parity(uint64_t word) {
  return static_cast<uint64_t>(__builtin_parityll(word));
}

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_UTIL_COMPACT_KERNELS_H_
