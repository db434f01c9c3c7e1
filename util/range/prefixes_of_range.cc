#include "util/range/prefixes_of_range.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "util/range/bytes.h"
#include "util/range/cut.h"
#include "util/range/range.h"

namespace deltabloom::internal::range {
namespace {

// Returns whether a key k < upper can have the prefix of `upper` at the first
// `bits` bits. Below `upper`, without the zero bytes at its end, no key has
// that prefix if its last bit set is one of those bits; between the two are
// only keys that are shorter than `upper`.
bool KeysBelowShare(std::string_view upper, size_t bits, size_t least_size) {
  const size_t end = upper.find_last_not_of('\0') + 1;
  if (end < upper.size() && least_size < upper.size()) return true;
  if (end == 0) return false;
  const int zeros = __builtin_ctz(ByteAt(upper, end - 1));
  return 8 * end - static_cast<unsigned>(zeros) > bits;
}

// The difference of the bounds' first `bits` bits, padded with zeros, as
// numbers; capped.
uint64_t Distance(const RangeView& range, size_t bits) {
  constexpr uint64_t kFar = kMaxPrefixesPerRange + 1;
  uint64_t difference = 0;  // of the bytes so far
  const size_t size = (bits + 7) / 8;
  for (size_t i = range.equal; i < size; ++i) {
    const unsigned kept =
        i + 1 < size ? 0xff : 0xff << (8 * size - bits) & 0xff;
    const auto byte = [&](std::string_view bound) {
      return i < bound.size() ? ByteAt(bound, i) & kept : 0;
    };
    difference = (difference << 8) + byte(range.upper) - byte(range.lower);
    // From 2 on it only grows.
    if (difference > kFar << 8) return kFar;
  }
  return std::min(difference >> (8 * size - bits), kFar);
}

}  // namespace

PrefixesOfRange::PrefixesOfRange(const Cut& cut, const RangeView& range,
                                 size_t least_size) {
  // A delimiter must be a part of all keys.
  const size_t begin = BeginOf(cut, range.lower.substr(0, range.common));
  if (begin == std::string_view::npos) return;
  bits_ = 8 * begin + cut.bits;
  if (bits_ > kMaxCutBits) return;
  left_ = 1;
  if (8 * range.common < bits_) {
    left_ = Distance(range, bits_) +
            (KeysBelowShare(range.upper, bits_, least_size) ? 1 : 0);
    if (left_ > kMaxPrefixesPerRange) return;
  }
  prefix_ = FirstBits(range.lower, bits_, bytes_);
  known_ = true;
}

void PrefixesOfRange::Next() {
  if (--left_ == 0) return;
  if (prefix_.data() != bytes_) {
    prefix_.copy(bytes_, prefix_.size());
    prefix_ = {bytes_, prefix_.size()};
  }
  unsigned add = 1u << (8 * prefix_.size() - bits_);
  for (size_t i = prefix_.size(); i-- > 0 && add > 0;) {
    add += static_cast<unsigned char>(bytes_[i]);
    bytes_[i] = static_cast<char>(add);
    add >>= 8;
  }
}

}  // namespace deltabloom::internal::range
