// Range filters as plain bytes: build them from sorted keys, ask them for
// ranges.
//
// A range filter answers "may a key k with lower <= k < upper have been
// added?". It never answers no for a range that holds a key. It is for scans of
// ranges that mostly hold none, each of which it saves a read. docs/guide.md
// says when to use it; docs/format.md, chapter "Range part", defines every
// byte.
//
// Keys are ordered by their bytes, as unsigned numbers. Integers in that order
// are big-endian, signed ones with their highest bit flipped.
//
// Store the bytes where a checksum guards them: recognisably damaged bytes may
// match, but not every changed bit can be detected.
#ifndef DELTABLOOM_RANGE_FILTER_H_
#define DELTABLOOM_RANGE_FILTER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "deltabloom/export.h"

namespace deltabloom {

struct DELTABLOOM_EXPORT RangeFilterOptions {
  // Bits of filter per added key. Legal: above 0, to 1000. From 4 or so on a
  // filter is of use; a small one may take 160 bytes more.
  double bits_per_key = 16;

  // Expected length of a range, in consecutive integers. Used for fixed-size
  // keys only. Up to this length one in twenty empty ranges or fewer may match,
  // as far as bits_per_key allows, except next to a key. 1 keeps as much as
  // possible of those next to a key. Legal: 1 or more.
  uint64_t range_length = 1024;

  // Empty when the options can be built with; else one line that names the
  // offending option, its value and the legal range.
  std::string Validate() const;
};

// Collects keys and turns them into one range filter; usable again after
// Finish. Not thread-safe.
//
// Errors: the constructor throws std::invalid_argument with the text of
// Validate(), or std::bad_alloc. Nothing else throws: without memory there is
// no filter.
class DELTABLOOM_EXPORT RangeFilterBuilder {
 public:
  explicit RangeFilterBuilder(const RangeFilterOptions& options = {});
  ~RangeFilterBuilder();
  RangeFilterBuilder(RangeFilterBuilder&&) noexcept;
  RangeFilterBuilder& operator=(RangeFilterBuilder&&) noexcept;

  // A range like those that will be asked for, before keys are added. The
  // builder chooses what it stores so that of these ranges those that hold no
  // key pass least; some hundreds are enough. Of each bound 128 bytes count.
  // The questions stay for all filters of this builder. Throws std::bad_alloc.
  void AddQuestion(std::string_view lower, std::string_view upper);

  // REQUIRES: key >= every key added since construction or the last Finish.
  // Any bytes and any length, including none. Equal keys count once.
  void AddKey(std::string_view key) noexcept;

  // Bytes of memory that Finish would hold at a time now, without the filter.
  uint64_t BuildBytes() const;

  // Appends the filter to *dst and leaves the builder empty. False, and nothing
  // appended, if there is none: keys that were not in order, no key, too little
  // memory, or too few bits for these keys. Every range may match then.
  bool Finish(std::string* dst) noexcept;

 private:
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

// A view over the bytes of a range filter, parsed once; the bytes must outlive
// it. Any bytes are safe; those that are none of this version's may match.
// Thread-safe.
class DELTABLOOM_EXPORT RangeFilter {
 public:
  // Throws std::bad_alloc.
  explicit RangeFilter(std::string_view filter);
  ~RangeFilter();
  RangeFilter(RangeFilter&&) noexcept;
  RangeFilter& operator=(RangeFilter&&) noexcept;

  // False only if no added key k has lower <= k < upper. True if lower >=
  // upper.
  bool MayMatch(std::string_view lower, std::string_view upper) const;

  // What the bytes are, in one line.
  std::string Describe() const;

 private:
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

}  // namespace deltabloom

#endif  // DELTABLOOM_RANGE_FILTER_H_
