#include "util/layouts/classic/good_size.h"

namespace deltabloom::internal::classic {
namespace {

// 2^16 + 1, a prime. The third probe of a key falls on v * kPrime for one of
// three times 2^16 numbers v.
constexpr uint32_t kPrime = 65537;

// How near a multiple of kPrime is too near: an eighth of it.
constexpr uint32_t kTooNear = 1 << 13;

// The x with number * x = 1 modulo kPrime, by Euclid's algorithm; number is in
// 1 .. kPrime - 1.
uint32_t Inverse(uint32_t number) {
  auto before = static_cast<int32_t>(kPrime);
  auto rest = static_cast<int32_t>(number);
  // rest = number * factor modulo kPrime, at each step.
  int32_t factor_before = 0;
  int32_t factor = 1;
  while (rest != 1) {
    const int32_t quotient = before / rest;
    const int32_t next = before - quotient * rest;
    const int32_t next_factor = factor_before - quotient * factor;
    before = rest;
    rest = next;
    factor_before = factor;
    factor = next_factor;
  }
  return static_cast<uint32_t>(
      factor < 0 ? factor + static_cast<int32_t>(kPrime) : factor);
}

}  // namespace

bool IsGoodSize(uint64_t bytes) {
  if (bytes < kSmallestAdjustedSize) return true;
  if (bytes % 3 == 0 || bytes % 5 == 0 || bytes % kPrime == 0) return false;
  const uint32_t x =
      Inverse(static_cast<uint32_t>(bytes % kPrime * 8 % kPrime));
  for (uint32_t d = 1; d <= 3; ++d) {
    const uint32_t multiple = d * x % kPrime;
    if (multiple < kTooNear || kPrime - multiple < kTooNear) return false;
  }
  return true;
}

uint64_t GoodSizeFrom(uint64_t bytes) {
  while (!IsGoodSize(bytes)) ++bytes;
  return bytes;
}

uint64_t GoodSizeUpTo(uint64_t bytes) {
  while (!IsGoodSize(bytes)) --bytes;
  return bytes;
}

}  // namespace deltabloom::internal::classic
