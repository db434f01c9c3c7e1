// The shape "numbers" of a range filter (docs/format.md, "Numbers").
//
// It is for keys of one size that are numbers in some base: integers, decimal
// digits, times, and several of them in a row.
//
// A key's number is reduced to a code below r as in Grafite, which keeps near
// numbers near and spreads far ones, and the codes are kept in Elias-Fano form.
// A range of l numbers is one of at most l / 2^unit + 1 codes in a row. For n
// keys each of these codes is taken with a probability of at most n / r, which
// is 1 / 2^(B-2) at B bits per key, unless a key is within 2^unit of the ends
// of the range.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "util/range/answer.h"
#include "util/range/codes.h"
#include "util/range/digits.h"

namespace deltabloom::internal::range {

// The bytes before the codes: the width, two limits for each byte of a key, and
// base, span and unit.
constexpr size_t NumbersHeaderSize(size_t width) {
  return 1 + 2 * width + 8 + 8 + 1;
}

// The q of docs/format.md: the code of the first number of a block of
// `universe` numbers. The first block stays in its place.
uint64_t BlockShift(uint64_t block, uint64_t universe);

// A view. Any bytes are safe.
class Numbers {
 public:
  // Returns false if the body breaks a rule; nothing else may be called then.
  bool Parse(std::string_view body);

  // REQUIRES: lower < upper. Without `upper` the range is open.
  Answer Ask(std::string_view lower,
             std::optional<std::string_view> upper) const;
  bool HasKeyFrom(std::string_view bound) const;
  std::string Describe() const;

 private:
  bool MayMatch(std::string_view lower, std::string_view upper) const;
  bool AnyCode(uint64_t first, uint64_t last) const;

  Digits digits_;
  uint64_t base_ = 0;
  uint64_t span_ = 0;
  unsigned unit_ = 0;
  Codes codes_;
};

}  // namespace deltabloom::internal::range
