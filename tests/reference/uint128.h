// Unsigned numbers of 128 bits: the compiler's, or where it has none, as on
// 32-bit machines, a slow class.
#pragma once

#include <cstdint>
#include <utility>

namespace deltabloom::reference {

#ifdef __SIZEOF_INT128__

__extension__ using Uint128 = unsigned __int128;

#else

class Uint128 {
 public:
  Uint128(uint64_t low) : low_(low) {}  // NOLINT: like a number
  explicit operator uint64_t() const { return low_; }

  friend Uint128 operator+(Uint128 a, Uint128 b) {
    Uint128 sum(a.low_ + b.low_);
    sum.high_ = a.high_ + b.high_ + (sum.low_ < a.low_ ? 1 : 0);
    return sum;
  }
  friend Uint128 operator-(Uint128 a, Uint128 b) {
    Uint128 difference(a.low_ - b.low_);
    difference.high_ = a.high_ - b.high_ - (a.low_ < b.low_ ? 1 : 0);
    return difference;
  }
  friend Uint128 operator*(Uint128 a, Uint128 b) {
    Uint128 product = 0;
    for (unsigned bit = 128; bit-- > 0;) {
      product = product + product;
      if (b.Bit(bit)) product = product + a;
    }
    return product;
  }
  friend Uint128 operator/(Uint128 a, Uint128 b) { return Divide(a, b).first; }
  friend Uint128 operator%(Uint128 a, Uint128 b) { return Divide(a, b).second; }
  friend Uint128 operator>>(Uint128 a, unsigned bits) {
    Uint128 shifted = 0;
    for (unsigned bit = bits; bit < 128; ++bit) {
      if (a.Bit(bit)) shifted.SetBit(bit - bits);
    }
    return shifted;
  }
  Uint128& operator*=(Uint128 b) { return *this = *this * b; }

  friend bool operator<(Uint128 a, Uint128 b) {
    return a.high_ != b.high_ ? a.high_ < b.high_ : a.low_ < b.low_;
  }
  friend bool operator>(Uint128 a, Uint128 b) { return b < a; }
  friend bool operator<=(Uint128 a, Uint128 b) { return !(b < a); }
  friend bool operator>=(Uint128 a, Uint128 b) { return !(a < b); }

 private:
  bool Bit(unsigned i) const {
    return ((i < 64 ? low_ >> i : high_ >> (i - 64)) & 1) != 0;
  }
  void SetBit(unsigned i) {
    (i < 64 ? low_ : high_) |= uint64_t{1} << (i % 64);
  }
  // The quotient and the remainder.
  static std::pair<Uint128, Uint128> Divide(Uint128 a, Uint128 b) {
    Uint128 quotient = 0;
    Uint128 rest = 0;
    for (unsigned bit = 128; bit-- > 0;) {
      rest = rest + rest;
      if (a.Bit(bit)) rest = rest + 1;
      if (rest < b) continue;
      rest = rest - b;
      quotient.SetBit(bit);
    }
    return {quotient, rest};
  }

  uint64_t low_;
  uint64_t high_ = 0;
};

#endif

}  // namespace deltabloom::reference
