// The comparison of the layout compact in vectors of 256 bits. The including
// file defines DELTABLOOM_TARGET, the function attribute of its level.
#ifndef DELTABLOOM_UTIL_COMPACT_AVX2_INL_H_
#define DELTABLOOM_UTIL_COMPACT_AVX2_INL_H_

#include "util/compact_terms.h"

namespace deltabloom::internal {
namespace {

// Of every byte of columns kFrom .. kFrom + 3 the parity, times `scale`.
template <unsigned kFrom, uint8_t kScale>
DELTABLOOM_TARGET inline __m256i ByteParities(const CompactTerms& terms,
                                              const unsigned char* second) {
  constexpr uint8_t s = kScale;
  // The parities of 16 numbers of four bits, for each half of a vector.
  alignas(32) static constexpr uint8_t kParities[32] = {
      0, s, s, 0, s, 0, 0, s, s, 0, 0, s, 0, s, s, 0,
      0, s, s, 0, s, 0, 0, s, s, 0, 0, s, 0, s, s, 0};
  const auto* first_words =
      reinterpret_cast<const __m256i*>(terms.first + kFrom * 8);
  const auto* second_words =
      reinterpret_cast<const __m256i*>(second + kFrom * 8);
  const __m256i low = _mm256_set1_epi64x(static_cast<long long>(terms.low));
  const __m256i high = _mm256_set1_epi64x(static_cast<long long>(terms.high));
  const __m256i rows = _mm256_xor_si256(
      _mm256_and_si256(_mm256_loadu_si256(first_words), low),
      _mm256_and_si256(_mm256_loadu_si256(second_words), high));
  const __m256i folded = _mm256_and_si256(
      _mm256_xor_si256(rows, _mm256_srli_epi64(rows, 4)), _mm256_set1_epi8(15));
  return _mm256_shuffle_epi8(
      _mm256_load_si256(reinterpret_cast<const __m256i*>(kParities)), folded);
}

// Compares columns kFrom .. kFrom + 3. `skip` is 1 to leave out the last.
template <unsigned kFrom>
DELTABLOOM_TARGET inline bool HoldsFour(const CompactTerms& terms,
                                        const unsigned char* second,
                                        uint32_t skip) {
  const __m256i sums = _mm256_sad_epu8(ByteParities<kFrom, 1>(terms, second),
                                       _mm256_setzero_si256());
  const auto parities = static_cast<uint32_t>(
      _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_slli_epi64(sums, 63))));
  return ((parities ^ terms.fingerprint >> kFrom) & 0xfu >> skip) == 0;
}

// Compares columns kFrom .. kFrom + 3 and kThen .. kThen + 3, the parities of
// the former in bit 0 of sums of 8 bytes, those of the latter in bit 4. `skip`
// is 1 to leave out the last of them.
template <unsigned kFrom, unsigned kThen>
DELTABLOOM_TARGET inline bool HoldsEight(const CompactTerms& terms,
                                         const unsigned char* second,
                                         uint32_t skip) {
  alignas(32) static constexpr uint64_t kColumn[4] = {0, 1, 2, 3};
  static constexpr uint64_t kCompared[5] = {0x11, 0x11, 0x11, 0x11, 1};
  const uint32_t fingerprint =
      kThen == kFrom + 4
          ? terms.fingerprint >> kFrom
          : (terms.fingerprint >> kFrom & 15) | terms.fingerprint >> kThen << 4;
  const __m256i sums =
      _mm256_sad_epu8(_mm256_or_si256(ByteParities<kFrom, 1>(terms, second),
                                      ByteParities<kThen, 16>(terms, second)),
                      _mm256_setzero_si256());
  const __m256i expected = _mm256_srlv_epi64(
      _mm256_set1_epi64x(fingerprint),
      _mm256_load_si256(reinterpret_cast<const __m256i*>(kColumn)));
  return _mm256_testz_si256(_mm256_xor_si256(sums, expected),
                            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(
                                kCompared + skip))) != 0;
}

template <unsigned kColumns>
DELTABLOOM_TARGET inline bool HoldsFew(const CompactTerms& terms) {
  const unsigned char* second = terms.Second(kColumns);
  uint64_t differs = 0;
#pragma GCC unroll 4
  for (unsigned j = 0; j < kColumns; ++j) {
    const uint64_t rows = (LoadFixed64(terms.first + j * 8) & terms.low) ^
                          (LoadFixed64(second + j * 8) & terms.high);
    const uint64_t differs_here =
        static_cast<uint64_t>(__builtin_popcountll(rows)) ^
        terms.fingerprint >> j;
    differs |=
        j + 1 < kColumns ? differs_here : differs_here & (terms.narrow ^ 1);
  }
  return (differs & 1) == 0;
}

// Vectors overlap where the columns are no multiple of four.
template <unsigned kColumns, unsigned kFrom = 0>
DELTABLOOM_TARGET inline bool Holds(const CompactTerms& terms) {
  if constexpr (kColumns < 4) {
    return HoldsFew<kColumns>(terms);
  } else if constexpr (kColumns <= kFrom + 4) {
    return HoldsFour<kColumns - 4>(terms, terms.Second(kColumns), terms.narrow);
  } else if constexpr (kColumns <= kFrom + 8) {
    return HoldsEight<kFrom, kColumns - 4>(terms, terms.Second(kColumns),
                                           terms.narrow);
  } else {
    return HoldsEight<kFrom, kFrom + 4>(terms, terms.Second(kColumns), 0) &&
           Holds<kColumns, kFrom + 8>(terms);
  }
}

}  // namespace
}  // namespace deltabloom::internal

#endif  // DELTABLOOM_UTIL_COMPACT_AVX2_INL_H_
