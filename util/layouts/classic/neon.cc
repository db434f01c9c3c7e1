// What the kernels of classic are made of, for NEON: eight lanes are two
// vectors of four.
#include "util/layouts/classic/classic.h"

#if defined(DELTABLOOM_HAS_NEON)

#include <arm_neon.h>

#include <cstring>

#define DELTABLOOM_TARGET
#define DELTABLOOM_KERNELS Neon

namespace deltabloom::internal::classic {
namespace {

// The compiler's own vectors, with operators.
struct Lanes {
  uint32x4_t low;
  uint32x4_t high;
};

inline Lanes operator+(Lanes a, Lanes b) {
  return {a.low + b.low, a.high + b.high};
}
inline Lanes operator-(Lanes a, Lanes b) {
  return {a.low - b.low, a.high - b.high};
}
inline Lanes operator*(Lanes a, Lanes b) {
  return {a.low * b.low, a.high * b.high};
}
inline Lanes operator|(Lanes a, Lanes b) {
  return {a.low | b.low, a.high | b.high};
}
inline Lanes operator^(Lanes a, Lanes b) {
  return {a.low ^ b.low, a.high ^ b.high};
}
inline Lanes operator*(Lanes a, uint32_t b) { return {a.low * b, a.high * b}; }
inline Lanes operator&(Lanes a, uint32_t b) { return {a.low & b, a.high & b}; }
inline Lanes operator<<(Lanes a, int n) { return {a.low << n, a.high << n}; }
inline Lanes operator>>(Lanes a, int n) { return {a.low >> n, a.high >> n}; }
inline void operator*=(Lanes& a, uint32_t b) { a = a * b; }
inline void operator+=(Lanes& a, Lanes b) { a = a + b; }
inline void operator^=(Lanes& a, Lanes b) { a = a ^ b; }

inline Lanes All(uint32_t value) {
  return {vdupq_n_u32(value), vdupq_n_u32(value)};
}

inline Lanes Load(const uint32_t* from) {
  return {vld1q_u32(from), vld1q_u32(from + 4)};
}

inline void Store(uint32_t* to, Lanes a) {
  vst1q_u32(to, a.low);
  vst1q_u32(to + 4, a.high);
}

// Of four keys: a matrix of four words by four, with rows and columns
// exchanged.
inline void LoadWordsOfFour(const char* const* blocks, uint32x4_t words[4]) {
  uint32x4_t in[4];
  for (size_t i = 0; i < 4; ++i) std::memcpy(&in[i], blocks[i], sizeof(in[i]));
  const uint32x4x2_t pairs01 = vtrnq_u32(in[0], in[1]);
  const uint32x4x2_t pairs23 = vtrnq_u32(in[2], in[3]);
  for (size_t i = 0; i < 2; ++i) {
    const auto left = vreinterpretq_u64_u32(pairs01.val[i]);
    const auto right = vreinterpretq_u64_u32(pairs23.val[i]);
    words[i] = vreinterpretq_u32_u64(vtrn1q_u64(left, right));
    words[i + 2] = vreinterpretq_u32_u64(vtrn2q_u64(left, right));
  }
}

inline void LoadWords(const char* const* blocks, Lanes words[4]) {
  uint32x4_t low[4];
  uint32x4_t high[4];
  LoadWordsOfFour(blocks, low);
  LoadWordsOfFour(blocks + 4, high);
  for (size_t i = 0; i < 4; ++i) words[i] = {low[i], high[i]};
}

inline Lanes ShiftOnes(Lanes numbers) {
  const uint32x4_t one = vdupq_n_u32(1);
  return {one << numbers.low, one << numbers.high};
}

inline uint32x4_t HighProductsOfFour(uint32x4_t a, uint32x4_t b) {
  const uint64x2_t low = vmull_u32(vget_low_u32(a), vget_low_u32(b));
  const uint64x2_t high = vmull_high_u32(a, b);
  return vuzp2q_u32(vreinterpretq_u32_u64(low), vreinterpretq_u32_u64(high));
}

inline Lanes HighProducts(Lanes a, Lanes b) {
  return {HighProductsOfFour(a.low, b.low), HighProductsOfFour(a.high, b.high)};
}

inline Lanes Least(Lanes a, Lanes b) {
  return {vminq_u32(a.low, b.low), vminq_u32(a.high, b.high)};
}

}  // namespace
}  // namespace deltabloom::internal::classic

#include "util/layouts/classic/kernels-inl.h"

#endif  // defined(DELTABLOOM_HAS_NEON)
