#include "util/range/numbers.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "util/coding.h"
#include "util/hash64.h"
#include "util/range/answer.h"
#include "util/range/bytes.h"
#include "util/range/codes.h"
#include "util/range/digits.h"

namespace deltabloom::internal::range {

uint64_t BlockShift(uint64_t block, uint64_t universe) {
  return block == 0 ? 0 : ScaleHash(Remix64(block, 0), universe);
}

bool Numbers::Parse(std::string_view body) {
  if (body.empty()) return false;
  const unsigned char* at = BytesOf(body);
  digits_.width = *at++;
  const size_t header = NumbersHeaderSize(digits_.width);
  if (body.size() < header) return false;
  digits_.least = at;
  digits_.most = at + digits_.width;
  if (!digits_.Fit()) return false;
  while (digits_.constant < digits_.width &&
         digits_.least[digits_.constant] == digits_.most[digits_.constant]) {
    ++digits_.constant;
  }
  at += 2 * digits_.width;
  base_ = LoadFixed64(at);
  span_ = LoadFixed64(at + 8);
  unit_ = at[16];
  if (unit_ > 63 || base_ + span_ < base_) return false;
  return codes_.Parse(body.substr(header));
}

Answer Numbers::Ask(std::string_view lower,
                    std::optional<std::string_view> upper) const {
  if (upper.has_value() ? MayMatch(lower, *upper) : HasKeyFrom(lower)) {
    return Answer::kMayMatch;
  }
  return Answer::kNo;
}

bool Numbers::MayMatch(std::string_view lower, std::string_view upper) const {
  // The numbers of the range, first to last.
  uint64_t first, end;
  if (!digits_.CountBelow(lower, &first)) return false;
  const bool has_end = digits_.CountBelow(upper, &end);
  if (has_end && end <= first) return false;
  uint64_t last = has_end ? end - 1 : ~uint64_t{0};
  if (last < base_ || first > base_ + span_) return false;

  // Their units, counted from that of the first key.
  first = (std::max(first, base_) - base_) >> unit_;
  last = (std::min(last, base_ + span_) - base_) >> unit_;
  const uint64_t universe = codes_.universe();
  if (last - first >= universe - 1) return true;

  // The range is shorter than a block, so it is in one or in two of them.
  uint64_t block = first / universe;
  const uint64_t first_in = first - block * universe;
  const uint64_t last_in = last - block * universe;
  const uint64_t shift = BlockShift(block, universe);
  if (last_in < universe) return AnyCode(shift + first_in, shift + last_in);
  ++block;
  const uint64_t next_shift = BlockShift(block, universe);
  return AnyCode(shift + first_in, shift + universe - 1) ||
         AnyCode(next_shift, next_shift + (last_in - universe));
}

// Returns whether there is a code in [first, last], which may lie beyond the
// universe by less than its size: codes wrap around to 0.
bool Numbers::AnyCode(uint64_t first, uint64_t last) const {
  const uint64_t universe = codes_.universe();
  if (first >= universe) {
    return codes_.AnyIn(first - universe, last - universe);
  }
  if (last < universe) return codes_.AnyIn(first, last);
  return codes_.AnyIn(first, universe - 1) || codes_.AnyIn(0, last - universe);
}

bool Numbers::HasKeyFrom(std::string_view bound) const {
  uint64_t below;
  return digits_.CountBelow(bound, &below) && below <= base_ + span_;
}

std::string Numbers::Describe() const {
  return "numbers of " + std::to_string(digits_.width) + " bytes, " +
         std::to_string(codes_.count()) + " codes of " +
         std::to_string(codes_.universe()) + ", unit 2^" +
         std::to_string(unit_);
}

}  // namespace deltabloom::internal::range
