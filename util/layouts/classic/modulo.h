// h mod d without a division, for any 32-bit h and a divisor fixed beforehand:
// a probe of a classic filter is little more than this.
//
// Both ways are exact for every h and every d from 1 upwards:
//
// Wide (Lemire, Kaser, Kurz 2019): with M = ceil(2^64 / d), the low 64 bits of
// M * h are the fraction h / d - floor(h / d) in units of 2^-64, rounded up by
// less than h <= 2^32 units. Times d, that is r plus less than one.
//
// Narrow, for vectors of 32-bit numbers: with R = floor((2^64 - 1) / d) >> 32,
// which is 2^32 / d less an e in (0, 1], the quotient q = (h * R) >> 32 is at
// most 1 below floor(h / d), because h * e / 2^32 < 1. So r = h - q * d is in
// [0, 2d) and not above h. r - d, wrapped at 2^32, is below r if and only if
// d <= r; hence min(r, r - d) is the remainder.
//
// For filters asked once, whose reciprocal takes longer than the lookup: with
// R = floor((2^32 - 1) / d), also 2^32 / d less an e in (0, 1], the narrow way
// holds for d below 2^32, and R takes a division of 32 bits.
//
// For d >= 2^32 the remainder is h. The wide way gives it with d = 2^32. In
// the narrow way that d wraps to 0, and h - q * 0 = h = min(h, h - 0).
#ifndef DELTABLOOM_UTIL_LAYOUTS_CLASSIC_MODULO_H_
#define DELTABLOOM_UTIL_LAYOUTS_CLASSIC_MODULO_H_

#include <algorithm>
#include <cstdint>

namespace deltabloom::internal::classic {

struct Modulo {
  uint64_t divisor;  // at most 2^32
  uint64_t inverse;  // M

  uint32_t narrow_divisor() const { return static_cast<uint32_t>(divisor); }
  uint32_t narrow_inverse() const {
    return static_cast<uint32_t>((inverse - 1) >> 32);
  }
};

// For d = 1, M = 2^64 wraps to 0, which gives the remainder 0, too.
inline Modulo MakeModulo(uint64_t divisor) {
  const uint64_t d = std::min(divisor, uint64_t{1} << 32);
  return {d, ~uint64_t{0} / d + 1};
}

inline uint32_t NarrowRemainder(uint32_t h, const Modulo& modulo) {
  const uint32_t d = modulo.narrow_divisor();
  const auto q =
      static_cast<uint32_t>(uint64_t{h} * modulo.narrow_inverse() >> 32);
  const uint32_t r = h - q * d;
  return std::min(r, r - d);
}

// For divisors below 2^32, quick to make.
class Modulo32 {
 public:
  explicit Modulo32(uint32_t divisor)
      : divisor_(divisor), inverse_(~uint32_t{0} / divisor) {}

  uint32_t operator()(uint32_t h) const {
    const auto q = static_cast<uint32_t>(uint64_t{h} * inverse_ >> 32);
    const uint32_t r = h - q * divisor_;
    return std::min(r, r - divisor_);
  }

 private:
  const uint32_t divisor_;
  const uint32_t inverse_;
};

// The wide way where the machine multiplies 64-bit numbers.
inline uint32_t Remainder(uint32_t h, const Modulo& modulo) {
#if defined(__SIZEOF_INT128__)
  const uint64_t fraction = modulo.inverse * h;
  return static_cast<uint32_t>(
      static_cast<unsigned __int128>(fraction) * modulo.divisor >> 64);
#else
  return NarrowRemainder(h, modulo);
#endif
}

}  // namespace deltabloom::internal::classic

#endif  // DELTABLOOM_UTIL_LAYOUTS_CLASSIC_MODULO_H_
