// Masked loads, which SIMDe 0.7.4 and older lack, for files that include it.
#ifndef DELTABLOOM_TESTS_COMPACT_SIMDE_MASKED_LOAD_H_
#define DELTABLOOM_TESTS_COMPACT_SIMDE_MASKED_LOAD_H_

#include <cstdint>
#include <cstring>

using __mmask8 = simde__mmask8;

// Newer ones have it as a macro.
#ifndef _mm512_maskz_loadu_epi64

inline __m512i _mm512_maskz_loadu_epi64(__mmask8 mask, const void* from) {
  uint64_t words[8] = {};
  for (int i = 0; i < 8; ++i) {
    if ((mask >> i & 1) == 0) continue;
    std::memcpy(&words[i], static_cast<const char*>(from) + i * 8, 8);
  }
  return _mm512_loadu_si512(words);
}

#endif  // _mm512_maskz_loadu_epi64

#endif  // DELTABLOOM_TESTS_COMPACT_SIMDE_MASKED_LOAD_H_
