// The AVX-512 kernels of compact over SIMDe's emulation of the intrinsics, in
// place of the native ones: so they are tested on CPUs without AVX-512.
#define SIMDE_NO_NATIVE
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>

#include <cstdint>
#include <cstring>

using __mmask8 = simde__mmask8;

// Older versions of SIMDe lack this one; newer ones have it as a macro.
#ifndef _mm512_maskz_loadu_epi64

inline __m512i _mm512_maskz_loadu_epi64(__mmask8 mask, const void* from) {
  uint64_t words[8] = {};
  for (int i = 0; i < 8; ++i) {
    if ((mask >> i & 1) == 0) continue;
    std::memcpy(&words[i], static_cast<const char*>(from) + i * 8, 8);
  }
  return _mm512_loadu_si512(words);
}

#endif

#define DELTABLOOM_TARGET

#include "util/layouts/compact/avx512.cc"
