// Ranges of keys: lower <= k < upper, in the order of bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace deltabloom::internal::range {

struct Range {
  std::string lower, upper;

  bool operator==(const Range& other) const {
    return lower == other.lower && upper == other.upper;
  }
};

// A view of a range that may hold keys, and how its keys begin. REQUIRES: lower
// < upper.
struct RangeView {
  RangeView(std::string_view from, std::string_view to);

  std::string_view lower, upper;
  size_t equal;   // bytes with which both begin
  size_t common;  // bytes of `lower` with which all keys in the range begin
};

}  // namespace deltabloom::internal::range
