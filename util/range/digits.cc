#include "util/range/digits.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "util/range/bytes.h"

namespace deltabloom::internal::range {

bool Digits::Fit() const {
  uint64_t last_number = 0;  // of keys that consist of the places so far
  for (size_t i = 0; i < width; ++i) {
    if (least[i] > most[i]) return false;
    const uint64_t digits = uint64_t{most[i]} - least[i] + 1;
    if (__builtin_mul_overflow(last_number, digits, &last_number) ||
        __builtin_add_overflow(last_number, digits - 1, &last_number)) {
      return false;
    }
  }
  return true;
}

bool Digits::CountBelow(std::string_view bound, uint64_t* count) const {
  const unsigned char* const bytes = BytesOf(bound);
  size_t i = 0;
  // Bounds mostly begin like the keys, and constant bytes count nothing.
  if (constant > 0 && bound.size() >= constant &&
      std::memcmp(bytes, least, constant) == 0) {
    i = constant;
  }
  uint64_t number = 0;
  const size_t end = std::min(width, bound.size());
  for (; i < end; ++i) {
    if (bytes[i] < least[i] || bytes[i] > most[i]) break;
    number =
        number * (uint64_t{most[i]} - least[i] + 1) + (bytes[i] - least[i]);
  }
  const bool is_above = i < end ? bytes[i] > most[i] : bound.size() > width;
  *count = number + (is_above ? 1 : 0);
  // Each of these stands for all keys that differ only from here on. A product
  // of 2^64 becomes 0.
  for (; i < width; ++i) *count *= uint64_t{most[i]} - least[i] + 1;
  // At least one key is below a bound that is above the digits, so 0 is 2^64.
  return !(is_above && *count == 0);
}

}  // namespace deltabloom::internal::range
