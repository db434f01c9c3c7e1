// The lookups of compact for AVX-512, which can count bits. A test includes
// this file with an emulation of the instructions and defines
// DELTABLOOM_TARGET.
#if defined(__x86_64__) || defined(DELTABLOOM_TARGET)

#ifndef DELTABLOOM_TARGET
#include <immintrin.h>
#define DELTABLOOM_TARGET DELTABLOOM_TARGET_AVX512_VPOPCNTDQ
#endif

// gcc 12 takes the undefined vectors inside its own intrinsics for variables
// that were forgotten (gcc bug 105593).
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#include <cstdint>

#include "util/layouts/compact/compact.h"

#define DELTABLOOM_KERNELS Avx512

namespace deltabloom::internal::compact {
namespace {

// Eight columns at a time; reads those of the block only.
template <unsigned kColumns, unsigned kFrom = 0>
DELTABLOOM_TARGET inline bool Holds(const Query& query) {
  constexpr bool kEnd = kColumns <= kFrom + 8;
  const uint32_t columns =
      kEnd ? 0xffu >> (8 - (kColumns - kFrom)) >> query.narrow : 0xffu;
  const auto mask = static_cast<__mmask8>(columns);
  const __m512i first = _mm512_maskz_loadu_epi64(mask, query.first + kFrom * 8);
  const __m512i second =
      _mm512_maskz_loadu_epi64(mask, query.Second(kColumns) + kFrom * 8);
  const __m512i low = _mm512_set1_epi64(static_cast<long long>(query.low));
  const __m512i high = _mm512_set1_epi64(static_cast<long long>(query.high));
  const __m512i rows = _mm512_xor_si512(_mm512_and_si512(first, low),
                                        _mm512_and_si512(second, high));
  const uint32_t parity =
      _mm512_test_epi64_mask(_mm512_popcnt_epi64(rows), _mm512_set1_epi64(1));
  const bool holds = ((parity ^ query.fingerprint >> kFrom) & columns) == 0;
  if constexpr (kEnd) {
    return holds;
  } else {
    return holds && Holds<kColumns, kFrom + 8>(query);
  }
}

}  // namespace
}  // namespace deltabloom::internal::compact

#include "util/layouts/compact/kernels-inl.h"

#endif  // defined(__x86_64__) || defined(DELTABLOOM_TARGET)
