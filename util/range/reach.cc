#include "util/range/reach.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "util/range/bytes.h"
#include "util/range/cut.h"
#include "util/range/prefixes_of_range.h"
#include "util/range/range.h"
#include "util/range/sample.h"

namespace deltabloom::internal::range {
namespace {

// Returns the number of bits with which both texts begin, padded with zeros.
size_t SharedBits(std::string_view a, std::string_view b) {
  size_t bytes = CommonPrefix(a, b);
  const auto byte = [&bytes](std::string_view text) {
    return bytes < text.size() ? ByteAt(text, bytes) : 0u;
  };
  for (; bytes < std::max(a.size(), b.size()); ++bytes) {
    const unsigned difference = byte(a) ^ byte(b);
    if (difference == 0) continue;
    return 8 * bytes + static_cast<size_t>(__builtin_clz(difference)) - 24;
  }
  return kMaxCutBits;
}

// Returns how many prefixes the sample asks for, 0 if a key around it has one
// of them.
uint8_t PrefixesThatReject(const Cut& cut, const Sample& sample,
                           PrefixesOfRange* asked) {
  const auto count = static_cast<uint8_t>(asked->left());
  char bytes[2][kMaxCutBytes];
  const std::string_view before = PrefixOf(cut, sample.before, bytes[0]);
  const std::string_view after = PrefixOf(cut, sample.after, bytes[1]);
  for (; asked->left() > 0; asked->Next()) {
    if (asked->prefix() == before || asked->prefix() == after) return 0;
  }
  // No prefix at all, of which the filter holds none either, counts as one.
  return std::max<uint8_t>(count, 1);
}

}  // namespace

Reach::Reach(const Sample& sample, size_t least_size) {
  const RangeView range(sample.lower, sample.upper);
  common_ = 8 * std::min(range.common, kMaxCutBytes);
  common_bytes_ = std::string_view(sample.lower).substr(0, common_ / 8);
  first_ = 1 + std::max(SharedBits(sample.before, sample.lower),
                        SharedBits(sample.after, sample.lower));
  if (range.lower.size() <= range.common) return;
  for (size_t depth = common_ + 1; depth <= kMaxCutBits; ++depth) {
    const Cut cut{0, 0, static_cast<uint16_t>(depth)};
    PrefixesOfRange asked(cut, range, least_size);
    if (!asked.known()) break;
    several_.push_back(PrefixesThatReject(cut, sample, &asked));
  }
}

}  // namespace deltabloom::internal::range
