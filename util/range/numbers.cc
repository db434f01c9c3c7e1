#include "util/range/numbers.h"

#include <algorithm>
#include <cstring>

#include "util/coding.h"

namespace deltabloom::internal::range {
namespace {

const unsigned char* Bytes(std::string_view view) {
  return reinterpret_cast<const unsigned char*>(view.data());
}

}  // namespace

bool Digits::Count() const {
  uint64_t last = 0;  // of the numbers that there are so far
  for (size_t i = 0; i < width; ++i) {
    if (least[i] > most[i]) return false;
    const uint64_t digits = uint64_t{most[i]} - least[i] + 1;
    if (__builtin_mul_overflow(last, digits, &last) ||
        __builtin_add_overflow(last, digits - 1, &last)) {
      return false;
    }
  }
  return true;
}

// Keys that differ from the i-th byte on only; 2^64 is 0.
uint64_t Digits::CountFrom(size_t i) const {
  uint64_t count = 1;
  for (; i < width; ++i) count *= uint64_t{most[i]} - least[i] + 1;
  return count;
}

bool Digits::Below(std::string_view bound, uint64_t* keys) const {
  const unsigned char* bytes = Bytes(bound);
  size_t i = 0;
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
  const bool behind = i < end ? bytes[i] > most[i] : bound.size() > width;
  *keys = (number + (behind ? 1 : 0)) * CountFrom(i);
  // Beyond a key there is at least that one below.
  return !(behind && *keys == 0);
}

bool Numbers::Parse(std::string_view body) {
  if (body.empty()) return false;
  const unsigned char* at = Bytes(body);
  digits_.width = *at++;
  constexpr size_t kFixed = 8 + 8 + 1;
  const size_t header = 1 + 2 * digits_.width + kFixed;
  if (body.size() < header) return false;
  digits_.least = at;
  digits_.most = at + digits_.width;
  if (!digits_.Count()) return false;
  while (digits_.constant < digits_.width &&
         digits_.least[digits_.constant] == digits_.most[digits_.constant]) {
    ++digits_.constant;
  }
  at += 2 * digits_.width;
  base_ = LoadFixed64(at);
  span_ = LoadFixed64(at + 8);
  unit_ = at[16];
  if (unit_ > 63 || base_ + span_ < base_) return false;
  if (!codes_.Parse(body.substr(header))) return false;
  universe_ = codes_.shape().Universe();
  return true;
}

// Of reduced numbers; those that are too large by less than one universe begin
// again at 0.
bool Numbers::AnyCode(uint64_t first, uint64_t last) const {
  if (first >= universe_) {
    return codes_.AnyIn(first - universe_, last - universe_);
  }
  if (last < universe_) return codes_.AnyIn(first, last);
  return codes_.AnyIn(first, universe_ - 1) ||
         codes_.AnyIn(0, last - universe_);
}

bool Numbers::MayMatch(std::string_view lower, std::string_view upper) const {
  uint64_t first, end;
  if (!digits_.Below(lower, &first)) return false;
  const bool bounded = digits_.Below(upper, &end);
  if (bounded && end <= first) return false;
  uint64_t last = bounded ? end - 1 : ~uint64_t{0};
  if (last < base_ || first > base_ + span_) return false;
  first = (std::max(first, base_) - base_) >> unit_;
  last = (std::min(last, base_ + span_) - base_) >> unit_;
  if (last - first >= universe_ - 1) return true;
  uint64_t block = first / universe_;
  const uint64_t first_in = first - block * universe_;
  const uint64_t last_in = last - block * universe_;
  const uint64_t shift = BlockShift(block, universe_);
  if (last_in < universe_) return AnyCode(shift + first_in, shift + last_in);
  ++block;
  const uint64_t next_shift = BlockShift(block, universe_);
  return AnyCode(shift + first_in, shift + universe_ - 1) ||
         AnyCode(next_shift, next_shift + (last_in - universe_));
}

bool Numbers::HasKeyFrom(std::string_view bound) const {
  uint64_t below;
  return digits_.Below(bound, &below) && below <= base_ + span_;
}

std::string Numbers::Describe() const {
  return "numbers of " + std::to_string(digits_.width) + " bytes, " +
         std::to_string(codes_.count()) + " codes of " +
         std::to_string(universe_) + ", unit 2^" + std::to_string(unit_);
}

}  // namespace deltabloom::internal::range
