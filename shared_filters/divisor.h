// A divisor known long before its use: `n % divisor` without a division.
#ifndef DELTABLOOM_SHARED_FILTERS_DIVISOR_H_
#define DELTABLOOM_SHARED_FILTERS_DIVISOR_H_

#include <cstdint>

#include "util/hash64.h"

namespace deltabloom::internal {

class Divisor {
 public:
  // `value` is at least 1.
  explicit Divisor(uint64_t value)
      : value_(value), reciprocal_(UINT64_MAX / value) {}

  uint64_t value() const { return value_; }

  friend uint64_t operator%(uint64_t n, const Divisor& divisor) {
    // The quotient is exact or one too small: the reciprocal is less than
    // 2^64 / value by at most 1, and n is less than 2^64.
    const uint64_t quotient = Multiply128(n, divisor.reciprocal_).high;
    const uint64_t rest = n - quotient * divisor.value_;
    return rest >= divisor.value_ ? rest - divisor.value_ : rest;
  }

 private:
  uint64_t value_;
  uint64_t reciprocal_;
};

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_SHARED_FILTERS_DIVISOR_H_
