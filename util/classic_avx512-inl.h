// The AVX-512 vector of the classic kernels.
#ifndef DELTABLOOM_UTIL_CLASSIC_AVX512_INL_H_
#define DELTABLOOM_UTIL_CLASSIC_AVX512_INL_H_

#include "util/classic_scalar-inl.h"

namespace deltabloom::internal {
namespace {

struct Vector {
  using Type = __m512i;
  static constexpr size_t kLanes = 16;

  DELTABLOOM_TARGET static inline Type Set(uint32_t value) {
    return _mm512_set1_epi32(static_cast<int>(value));
  }
  DELTABLOOM_TARGET static inline Type Load(const uint32_t* from) {
    return _mm512_load_si512(from);
  }
  DELTABLOOM_TARGET static inline Type LoadUnaligned(const uint32_t* from) {
    return _mm512_loadu_si512(from);
  }
  DELTABLOOM_TARGET static inline void Store(uint32_t* to, Type a) {
    _mm512_store_si512(to, a);
  }
  // The 16 bytes at blocks[i], [i + 4], [i + 8] and [i + 12], side by side.
  DELTABLOOM_TARGET static inline Type Load16Each(const char* const* blocks,
                                                  size_t i) {
    Type all = _mm512_castsi128_si512(Load16(blocks[i]));
    all = _mm512_inserti32x4(all, Load16(blocks[i + 4]), 1);
    all = _mm512_inserti32x4(all, Load16(blocks[i + 8]), 2);
    return _mm512_inserti32x4(all, Load16(blocks[i + 12]), 3);
  }
  DELTABLOOM_TARGET static inline Type Add(Type a, Type b) {
    return _mm512_add_epi32(a, b);
  }
  DELTABLOOM_TARGET static inline Type Sub(Type a, Type b) {
    return _mm512_sub_epi32(a, b);
  }
  DELTABLOOM_TARGET static inline Type Mul(Type a, Type b) {
    return _mm512_mullo_epi32(a, b);
  }
  // All lanes of b are equal.
  DELTABLOOM_TARGET static inline Type MulHigh(Type a, Type b) {
    const Type even = _mm512_mul_epu32(a, b);
    const Type odd = _mm512_mul_epu32(_mm512_srli_epi64(a, 32), b);
    return _mm512_mask_blend_epi32(0xaaaa, _mm512_srli_epi64(even, 32), odd);
  }
  DELTABLOOM_TARGET static inline Type Min(Type a, Type b) {
    return _mm512_min_epu32(a, b);
  }
  DELTABLOOM_TARGET static inline Type And(Type a, Type b) {
    return _mm512_and_si512(a, b);
  }
  DELTABLOOM_TARGET static inline Type Xor(Type a, Type b) {
    return _mm512_xor_si512(a, b);
  }
  template <int kBits>
  DELTABLOOM_TARGET static inline Type ShiftRight(Type a) {
    return _mm512_srli_epi32(a, kBits);
  }
  template <int kBits>
  DELTABLOOM_TARGET static inline Type RotateRight(Type a) {
    return _mm512_ror_epi32(a, kBits);
  }
  DELTABLOOM_TARGET static inline Type PowerOfTwo(Type a) {
    return _mm512_sllv_epi32(_mm512_set1_epi32(1), a);
  }
  DELTABLOOM_TARGET static inline Type UnpackLow32(Type a, Type b) {
    return _mm512_unpacklo_epi32(a, b);
  }
  DELTABLOOM_TARGET static inline Type UnpackHigh32(Type a, Type b) {
    return _mm512_unpackhi_epi32(a, b);
  }
  DELTABLOOM_TARGET static inline Type UnpackLow64(Type a, Type b) {
    return _mm512_unpacklo_epi64(a, b);
  }
  DELTABLOOM_TARGET static inline Type UnpackHigh64(Type a, Type b) {
    return _mm512_unpackhi_epi64(a, b);
  }

 private:
  DELTABLOOM_TARGET static inline __m128i Load16(const char* from) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  }
};

}  // namespace
}  // namespace deltabloom::internal

#include "util/classic_simd-inl.h"

#endif  // DELTABLOOM_UTIL_CLASSIC_AVX512_INL_H_
