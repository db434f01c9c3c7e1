#include "util/rates/false_positive.h"

#include <cmath>

namespace deltabloom::internal {

// 1 - e^x and ln(1 + x) lose every digit for small x; expm1 and log1p do not.

double BloomRate(double m, double n, double k) {
  return std::pow(-std::expm1(-k * n / m), k);
}

double BloomRateFinite(double m, double n, double k) {
  return std::pow(-std::expm1(k * n * std::log1p(-1 / m)), k);
}

double BloomBits(double n, double rate, double k) {
  return -k * n / std::log1p(-std::pow(rate, 1 / k));
}

double BloomKeys(double m, double rate, double k) {
  return -m * std::log1p(-std::pow(rate, 1 / k)) / k;
}

double KeysFromSetBits(double m, double set_bits, double k) {
  return -m / k * std::log1p(-set_bits / m);
}

double HashCollisionRate(double n, unsigned hash_bits) {
  return -std::expm1(
      n * std::log1p(-std::ldexp(1.0, -static_cast<int>(hash_bits))));
}

}  // namespace deltabloom::internal
