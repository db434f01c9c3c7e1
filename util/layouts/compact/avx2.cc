// The lookups of compact for AVX2.
#if defined(__x86_64__)

#include <immintrin.h>

#include <cstdint>

#include "util/layouts/compact/compact.h"

#define DELTABLOOM_TARGET DELTABLOOM_TARGET_AVX2
#define DELTABLOOM_KERNELS Avx2

namespace deltabloom::internal::compact {
namespace {

// Four columns from `at` on, before their parity is taken.
DELTABLOOM_TARGET inline __m256i Rows(const unsigned char* first,
                                      const unsigned char* second, __m256i low,
                                      __m256i high) {
  return _mm256_xor_si256(
      _mm256_and_si256(
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(first)), low),
      _mm256_and_si256(
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(second)), high));
}

// Compares columns kFrom .. kFrom + 3 and kThen .. kThen + 3. `skip` is 1 to
// leave out the last of them. All shifts go to the left, where the sign bits
// can be read: a vector of a constant would take gcc 12 three instructions.
template <unsigned kFrom, unsigned kThen>
DELTABLOOM_TARGET inline bool HoldsEight(const Query& query,
                                         const unsigned char* second,
                                         uint32_t skip) {
  // Shifts the parity of each lane's column to the sign bit.
  alignas(32) static constexpr uint32_t kShift[8] = {
      31 - kFrom,       31 - (kFrom + 1), 31 - kThen,       31 - (kThen + 1),
      31 - (kFrom + 2), 31 - (kFrom + 3), 31 - (kThen + 2), 31 - (kThen + 3)};
  const __m256i low = _mm256_set1_epi64x(static_cast<long long>(query.low));
  const __m256i high = _mm256_set1_epi64x(static_cast<long long>(query.high));
  __m256i from = Rows(query.first + kFrom * 8, second + kFrom * 8, low, high);
  __m256i then = Rows(query.first + kThen * 8, second + kThen * 8, low, high);
  // Fold 64 bits to 32, both vectors into one, and on to the highest bit.
  from = _mm256_xor_si256(from, _mm256_slli_epi64(from, 32));
  then = _mm256_xor_si256(then, _mm256_slli_epi64(then, 32));
  __m256i rows = _mm256_castps_si256(_mm256_shuffle_ps(
      _mm256_castsi256_ps(from), _mm256_castsi256_ps(then), 0xdd));
  rows = _mm256_xor_si256(rows, _mm256_slli_epi32(rows, 16));
  rows = _mm256_xor_si256(rows, _mm256_slli_epi32(rows, 8));
  rows = _mm256_xor_si256(rows, _mm256_slli_epi32(rows, 4));
  rows = _mm256_xor_si256(rows, _mm256_slli_epi32(rows, 2));
  rows = _mm256_xor_si256(rows, _mm256_slli_epi32(rows, 1));
  const __m256i fingerprint = _mm256_sllv_epi32(
      _mm256_set1_epi32(static_cast<int>(query.fingerprint)),
      _mm256_load_si256(reinterpret_cast<const __m256i*>(kShift)));
  const int differs = _mm256_movemask_ps(
      _mm256_castsi256_ps(_mm256_xor_si256(rows, fingerprint)));
  return (static_cast<uint32_t>(differs) & (0xffu >> skip)) == 0;
}

}  // namespace
}  // namespace deltabloom::internal::compact

#include "util/layouts/compact/eight_columns-inl.h"
#include "util/layouts/compact/kernels-inl.h"

#endif  // defined(__x86_64__)
