// The vector of 256 bits over which simd-inl.h is written. The including file
// defines DELTABLOOM_TARGET, the function attribute of its instructions.
#ifndef DELTABLOOM_UTIL_LAYOUTS_CLASSIC_AVX2_INL_H_
#define DELTABLOOM_UTIL_LAYOUTS_CLASSIC_AVX2_INL_H_

#include "util/layouts/classic/scalar-inl.h"

namespace deltabloom::internal::classic {
namespace {

struct Vector {
  using Type = __m256i;
  static constexpr size_t kLanes = 8;

  DELTABLOOM_TARGET static inline Type Set(uint32_t value) {
    return _mm256_set1_epi32(static_cast<int>(value));
  }
  DELTABLOOM_TARGET static inline Type Load(const uint32_t* from) {
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(from));
  }
  DELTABLOOM_TARGET static inline Type LoadUnaligned(const uint32_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }
  DELTABLOOM_TARGET static inline void Store(uint32_t* to, Type a) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(to), a);
  }
  // The 16 bytes at blocks[i] and blocks[i + 4], side by side.
  DELTABLOOM_TARGET static inline Type Load16Each(const char* const* blocks,
                                                  size_t i) {
    return _mm256_inserti128_si256(
        _mm256_castsi128_si256(
            _mm_loadu_si128(reinterpret_cast<const __m128i*>(blocks[i]))),
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(blocks[i + 4])), 1);
  }
  DELTABLOOM_TARGET static inline Type Add(Type a, Type b) {
    return _mm256_add_epi32(a, b);
  }
  DELTABLOOM_TARGET static inline Type Sub(Type a, Type b) {
    return _mm256_sub_epi32(a, b);
  }
  DELTABLOOM_TARGET static inline Type Mul(Type a, Type b) {
    return _mm256_mullo_epi32(a, b);
  }
  // All lanes of b are equal.
  DELTABLOOM_TARGET static inline Type MulHigh(Type a, Type b) {
    const Type even = _mm256_mul_epu32(a, b);
    const Type odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), b);
    return _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
  }
  DELTABLOOM_TARGET static inline Type Min(Type a, Type b) {
    return _mm256_min_epu32(a, b);
  }
  DELTABLOOM_TARGET static inline Type And(Type a, Type b) {
    return _mm256_and_si256(a, b);
  }
  DELTABLOOM_TARGET static inline Type Xor(Type a, Type b) {
    return _mm256_xor_si256(a, b);
  }
  template <int kBits>
  DELTABLOOM_TARGET static inline Type ShiftRight(Type a) {
    return _mm256_srli_epi32(a, kBits);
  }
  template <int kBits>
  DELTABLOOM_TARGET static inline Type RotateRight(Type a) {
    return _mm256_or_si256(_mm256_srli_epi32(a, kBits),
                           _mm256_slli_epi32(a, 32 - kBits));
  }
  DELTABLOOM_TARGET static inline Type PowerOfTwo(Type a) {
    return _mm256_sllv_epi32(_mm256_set1_epi32(1), a);
  }
  DELTABLOOM_TARGET static inline Type UnpackLow32(Type a, Type b) {
    return _mm256_unpacklo_epi32(a, b);
  }
  DELTABLOOM_TARGET static inline Type UnpackHigh32(Type a, Type b) {
    return _mm256_unpackhi_epi32(a, b);
  }
  DELTABLOOM_TARGET static inline Type UnpackLow64(Type a, Type b) {
    return _mm256_unpacklo_epi64(a, b);
  }
  DELTABLOOM_TARGET static inline Type UnpackHigh64(Type a, Type b) {
    return _mm256_unpackhi_epi64(a, b);
  }
};

}  // namespace
}  // namespace deltabloom::internal::classic

#endif  // DELTABLOOM_UTIL_LAYOUTS_CLASSIC_AVX2_INL_H_
