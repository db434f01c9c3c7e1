// A range filter: the prefixes of keys at declared places, and the ends of all
// keys. docs/format.md, "Range filter", defines its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "util/layouts/layout.h"
#include "util/range/key_range.h"
#include "util/range/places.h"
#include "util/range/question.h"

namespace deltabloom::internal::range {

inline constexpr char kFilterVersion = 2;

// The fields before the filter of prefixes.
struct FilterHeader {
  Order order = Order::kBytewise;
  Limits limits;
  uint64_t prefixes = 0;
  // Declarations: of the places whose prefixes are held, and of those for which
  // there were too few bits.
  std::string_view held, left_out;
  // The first bytes of the smallest and of the largest key, or all of them.
  std::string_view smallest, largest;
};

// Appends the header of a filter of prefixes that takes `filter_size` bytes.
// REQUIRES: fields within the limits of docs/format.md.
void AppendFilterHeader(const FilterHeader& header, size_t filter_size,
                        std::string* dst);

// A view over a range filter, parsed once; the bytes must outlive it. Any bytes
// are safe.
class Filter {
 public:
  explicit Filter(std::string_view bytes);

  // Returns false for damaged bytes and those of another version. Then nothing
  // else may be called but Describe().
  bool known() const { return known_; }
  const FilterHeader& header() const { return header_; }

  // Returns whether all keys lie outside the range, whose order is that of the
  // filter.
  bool IsOutside(const KeyRange& range) const;
  // Returns whether some key lies in the range or after it, as far as the
  // smallest and the largest key tell.
  bool HasKeyFromFront(const KeyRange& range) const;
  // Returns false only if no key has one of the prefixes asked for. Returns
  // true if the question has no prefix.
  bool MayHold(const Question& question) const;

  std::string Describe() const;

 private:
  bool Parse(std::string_view bytes);

  bool known_ = false;
  FilterHeader header_;
  const LayoutRow* row_ = nullptr;  // null: there is no prefix
  ParsedFilter filter_{};
  size_t size_ = 0;  // of the filter of prefixes
};

}  // namespace deltabloom::internal::range
