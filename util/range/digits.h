// The numbers of keys of one size whose bytes are digits (docs/format.md,
// "Numbers").
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace deltabloom::internal::range {

// The digits of such keys: a smallest and a largest byte at each place. A view.
struct Digits {
  const unsigned char* least = nullptr;
  const unsigned char* most = nullptr;
  size_t width = 0;     // bytes of each key
  size_t constant = 0;  // bytes at the front whose two limits are equal

  // Returns whether there are at most 2^64 keys of this form.
  bool Fit() const;

  // Sets *count to how many of these keys are smaller than `bound`, bytewise.
  // Returns false, and *count is 0, if that is 2^64, which is all of them.
  // REQUIRES: Fit().
  bool CountBelow(std::string_view bound, uint64_t* count) const;
};

}  // namespace deltabloom::internal::range
