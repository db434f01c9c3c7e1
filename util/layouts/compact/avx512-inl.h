// The comparison in vectors of 512 bits, which can count bits. The including
// file defines DELTABLOOM_TARGET, the function attribute of its instructions.
#ifndef DELTABLOOM_UTIL_LAYOUTS_COMPACT_AVX512_INL_H_
#define DELTABLOOM_UTIL_LAYOUTS_COMPACT_AVX512_INL_H_

#include "util/layouts/compact/query.h"

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

#endif  // DELTABLOOM_UTIL_LAYOUTS_COMPACT_AVX512_INL_H_
