// What the kernels of classic are made of, for AVX2.
#if defined(__x86_64__)

#include <immintrin.h>

#include "util/layouts/classic/classic.h"

#define DELTABLOOM_TARGET DELTABLOOM_TARGET_AVX2
#define DELTABLOOM_KERNELS Avx2

namespace deltabloom::internal::classic {
namespace {

using Lanes __attribute__((vector_size(32))) = uint32_t;

DELTABLOOM_TARGET inline __m256i Bytes(Lanes a) {
  return reinterpret_cast<__m256i>(a);
}
DELTABLOOM_TARGET inline Lanes FromBytes(__m256i a) {
  return reinterpret_cast<Lanes>(a);
}
DELTABLOOM_TARGET inline Lanes All(uint32_t value) {
  return FromBytes(_mm256_set1_epi32(static_cast<int>(value)));
}
DELTABLOOM_TARGET inline Lanes Load(const uint32_t* from) {
  return FromBytes(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
DELTABLOOM_TARGET inline void Store(uint32_t* to, Lanes a) {
  _mm256_store_si256(reinterpret_cast<__m256i*>(to), Bytes(a));
}

DELTABLOOM_TARGET inline void LoadWords(const char* const* blocks,
                                        Lanes words[4]) {
  __m256i in[4];
  for (size_t i = 0; i < 4; ++i) {  // of keys i and i + 4, side by side
    in[i] = _mm256_loadu2_m128i(reinterpret_cast<const __m128i*>(blocks[i + 4]),
                                reinterpret_cast<const __m128i*>(blocks[i]));
  }
  const __m256i low01 = _mm256_unpacklo_epi32(in[0], in[1]);
  const __m256i low23 = _mm256_unpacklo_epi32(in[2], in[3]);
  const __m256i high01 = _mm256_unpackhi_epi32(in[0], in[1]);
  const __m256i high23 = _mm256_unpackhi_epi32(in[2], in[3]);
  words[0] = FromBytes(_mm256_unpacklo_epi64(low01, low23));
  words[1] = FromBytes(_mm256_unpackhi_epi64(low01, low23));
  words[2] = FromBytes(_mm256_unpacklo_epi64(high01, high23));
  words[3] = FromBytes(_mm256_unpackhi_epi64(high01, high23));
}

DELTABLOOM_TARGET inline Lanes ShiftOnes(Lanes numbers) {
  return FromBytes(_mm256_sllv_epi32(Bytes(All(1)), Bytes(numbers)));
}

DELTABLOOM_TARGET inline Lanes HighProducts(Lanes a, Lanes b) {
  const __m256i even = _mm256_mul_epu32(Bytes(a), Bytes(b));
  const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(Bytes(a), 32),
                                       _mm256_srli_epi64(Bytes(b), 32));
  return FromBytes(_mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa));
}

DELTABLOOM_TARGET inline Lanes Least(Lanes a, Lanes b) {
  return FromBytes(_mm256_min_epu32(Bytes(a), Bytes(b)));
}

}  // namespace
}  // namespace deltabloom::internal::classic

#include "util/layouts/classic/kernels-inl.h"

#endif  // defined(__x86_64__)
