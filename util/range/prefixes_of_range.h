// The prefixes that keys in a range can have at a cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "util/range/cut.h"
#include "util/range/range.h"

namespace deltabloom::internal::range {

// A cut answers ranges whose keys can have no more prefixes there
// (docs/format.md, "Prefixes", rule 4).
inline constexpr uint64_t kMaxPrefixesPerRange = 8;

// Walks through these prefixes in ascending order.
class PrefixesOfRange {
 public:
  // `least_size`: no key is shorter. `range` must outlive this.
  PrefixesOfRange(const Cut& cut, const RangeView& range, size_t least_size);

  // False if there are more than kMaxPrefixesPerRange, or if keys in the range
  // need not have a prefix here.
  bool known() const { return known_; }
  uint64_t left() const { return left_; }
  // REQUIRES: left() > 0.
  std::string_view prefix() const { return prefix_; }
  void Next();

 private:
  size_t bits_ = 0;  // of each prefix
  bool known_ = false;
  uint64_t left_ = 0;
  std::string_view prefix_;
  char bytes_[kMaxCutBytes];
};

}  // namespace deltabloom::internal::range
