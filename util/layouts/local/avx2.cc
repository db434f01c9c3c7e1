// The kernels of local for AVX2: a round of probes in a vector of eight lanes.
#if defined(__x86_64__)

#include <immintrin.h>

#include <cstdint>

#include "util/layouts/local/local.h"

#define DELTABLOOM_TARGET DELTABLOOM_TARGET_AVX2
#define DELTABLOOM_KERNELS Avx2

namespace deltabloom::internal::local {
namespace {

// The bits of one key in a round, one for each sector that is taken: in lane i
// a bit of word i, or of word i + 8 where the sign bit of *upper is set.
DELTABLOOM_TARGET inline __m256i BitsOf(uint64_t hash, size_t round,
                                        uint32_t probes, __m256i* upper) {
  const __m256i products = _mm256_mullo_epi32(
      _mm256_set1_epi32(static_cast<int>(hash)),
      _mm256_load_si256(
          reinterpret_cast<const __m256i*>(kMultipliers + round * kSectors)));
  *upper = _mm256_slli_epi32(products, 5);
  const __m256i ones = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(
      &kSectorMasks.row[probes][FirstSector(hash)]));
  return _mm256_sllv_epi32(ones, _mm256_srli_epi32(products, 27));
}

struct Rounds {
  DELTABLOOM_TARGET static inline bool Test(const unsigned char* block,
                                            uint64_t hash, size_t round,
                                            uint32_t probes) {
    __m256i upper;
    const __m256i bits = BitsOf(hash, round, probes, &upper);
    const auto* words = reinterpret_cast<const __m256i*>(block);
    const __m256 chosen =
        _mm256_blendv_ps(_mm256_castsi256_ps(_mm256_loadu_si256(words)),
                         _mm256_castsi256_ps(_mm256_loadu_si256(words + 1)),
                         _mm256_castsi256_ps(upper));
    return _mm256_testc_si256(_mm256_castps_si256(chosen), bits) != 0;
  }

  DELTABLOOM_TARGET static inline void Set(unsigned char* block, uint64_t hash,
                                           size_t round, uint32_t probes) {
    __m256i upper;
    const __m256i bits = BitsOf(hash, round, probes, &upper);
    upper = _mm256_srai_epi32(upper, 31);
    auto* words = reinterpret_cast<__m256i*>(block);
    _mm256_storeu_si256(words,
                        _mm256_or_si256(_mm256_loadu_si256(words),
                                        _mm256_andnot_si256(upper, bits)));
    _mm256_storeu_si256(words + 1,
                        _mm256_or_si256(_mm256_loadu_si256(words + 1),
                                        _mm256_and_si256(upper, bits)));
  }
};

}  // namespace
}  // namespace deltabloom::internal::local

#include "util/layouts/local/kernels-inl.h"

#endif  // defined(__x86_64__)
