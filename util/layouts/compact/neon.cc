// The lookups of compact for NEON.
#include <cstdint>

#include "util/layouts/compact/compact.h"

#if defined(DELTABLOOM_HAS_NEON)

#include <arm_neon.h>

#define DELTABLOOM_TARGET
#define DELTABLOOM_KERNELS Neon

namespace deltabloom::internal::compact {
namespace {

// Counts the set rows of each of four columns, in four bytes per column: the
// columns from `first` and `second` on.
inline uint8x16_t RowsOfFour(const unsigned char* first,
                             const unsigned char* second, uint8x16_t low,
                             uint8x16_t high) {
  const auto two = [=](size_t at) __attribute__((always_inline)) {
    return vcntq_u8(veorq_u8(vandq_u8(vld1q_u8(first + at), low),
                             vandq_u8(vld1q_u8(second + at), high)));
  };
  return vpaddq_u8(two(0), two(16));
}

template <unsigned kFrom, unsigned kThen>
inline bool HoldsEight(const Query& query, const unsigned char* second,
                       uint32_t skip) {
  const uint8x16_t low = vreinterpretq_u8_u64(vdupq_n_u64(query.low));
  const uint8x16_t high = vreinterpretq_u8_u64(vdupq_n_u64(query.high));
  const uint8x16_t pairs = vpaddq_u8(
      RowsOfFour(query.first + kFrom * 8, second + kFrom * 8, low, high),
      RowsOfFour(query.first + kThen * 8, second + kThen * 8, low, high));
  const uint8x8_t rows = vget_low_u8(vpaddq_u8(pairs, pairs));
  // The parity of column i of the eight at bit i.
  constexpr int8x8_t kPlaces = {0, 1, 2, 3, 4, 5, 6, 7};
  const uint32_t parities =
      vaddv_u8(vshl_u8(vand_u8(rows, vdup_n_u8(1)), kPlaces));
  const uint32_t fingerprint = (query.fingerprint >> kFrom & 15) |
                               (query.fingerprint >> kThen & 15) << 4;
  return ((parities ^ fingerprint) & (0xffu >> skip)) == 0;
}

}  // namespace
}  // namespace deltabloom::internal::compact

#include "util/layouts/compact/eight_columns-inl.h"
#include "util/layouts/compact/kernels-inl.h"

#endif  // defined(DELTABLOOM_HAS_NEON)
