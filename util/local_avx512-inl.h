// Rounds of the layout local in vectors of 512 bits, a whole block. The
// including file defines DELTABLOOM_TARGET, the function attribute of its
// level.
#ifndef DELTABLOOM_UTIL_LOCAL_AVX512_INL_H_
#define DELTABLOOM_UTIL_LOCAL_AVX512_INL_H_

#include "util/local_kernels.h"

namespace deltabloom::internal {
namespace {

// Where the bits of a round are: in every word of `words`, the bit in `bits`.
struct Probes {
  __m512i bits;
  uint16_t words;  // as a mask of lanes
};

DELTABLOOM_TARGET inline Probes MakeProbes(uint64_t hash, size_t round,
                                           uint64_t probes) {
  const __m256i multipliers =
      _mm256_load_si256(reinterpret_cast<const __m256i*>(
          kLocalMultipliers + round * kLocalSectors));
  const __m256i products = _mm256_mullo_epi32(
      _mm256_set1_epi32(static_cast<int>(hash)), multipliers);
  const __m256i bits =
      _mm256_sllv_epi32(_mm256_set1_epi32(1), _mm256_srli_epi32(products, 27));
  const uint32_t upper = _mm256_movepi32_mask(_mm256_slli_epi32(products, 5));
  const uint32_t sectors = _mm256_cmpneq_epi32_mask(
      _mm256_loadu_si256(
          reinterpret_cast<const __m256i*>(LocalMasks(hash, probes))),
      _mm256_setzero_si256());
  return {_mm512_broadcast_i64x4(bits),
          static_cast<uint16_t>((sectors & ~upper) | (sectors & upper) << 8)};
}

// Are the bits of a round set in `block`?
DELTABLOOM_TARGET inline bool TestRound(const unsigned char* block,
                                        uint64_t hash, size_t round,
                                        uint64_t probes) {
  const Probes positions = MakeProbes(hash, round, probes);
  const uint32_t set =
      _mm512_test_epi32_mask(_mm512_loadu_si512(block), positions.bits);
  return (positions.words & ~set) == 0;
}

// Sets the bits of a round in `block`.
DELTABLOOM_TARGET inline void SetRound(unsigned char* block, uint64_t hash,
                                       size_t round, uint64_t probes) {
  const Probes positions = MakeProbes(hash, round, probes);
  const __m512i words = _mm512_loadu_si512(block);
  _mm512_storeu_si512(block, _mm512_mask_or_epi32(words, positions.words, words,
                                                  positions.bits));
}

}  // namespace
}  // namespace deltabloom::internal

#endif  // DELTABLOOM_UTIL_LOCAL_AVX512_INL_H_
