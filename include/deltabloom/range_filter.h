// Range filters as plain bytes. A range filter answers "may a key k with lower
// <= k < upper have been added?", and never no for a range that holds a key: it
// saves a read for most scans of empty ranges. docs/guide.md says when to use
// it; docs/format.md, chapter "Range filter", defines every byte. Store them
// under a checksum: not every changed bit can be detected.
//
// Keys are ordered by their bytes, as unsigned numbers. Integers in that order
// are big-endian, signed ones with their highest bit flipped.
#ifndef DELTABLOOM_RANGE_FILTER_H_
#define DELTABLOOM_RANGE_FILTER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "deltabloom/export.h"

namespace deltabloom {

struct DELTABLOOM_EXPORT RangeFilterOptions {
  // Bits of filter per added key. Legal: above 0, up to 1000; useful from about
  // 4 on. A filter may take up to 160 bytes more.
  double bits_per_key = 16;

  // Expected length of a range, in consecutive integers; for keys of one size
  // that are numbers. 0: the builder stores numbers or prefixes, whichever let
  // fewer ranges match. Otherwise it stores the numbers: of the empty ranges up
  // to this length that are not next to a key at most one in twenty matches, as
  // far as bits_per_key allows. 1 rejects as many ranges next to a key as
  // possible.
  uint64_t range_length = 0;

  // The prefixes of keys that the filter holds, for example "8,'/'x3,'~'x1+4":
  // the first 8 bytes, up to the third slash, and up to the first tilde and the
  // 4 bytes behind it. A prefix scan is rejected by the longest of them that is
  // no longer than its own prefix. Bits are written as 20b, other delimiters by
  // their byte as 0x00x2. At most 16, of at most 1,024 bytes; a prefix for
  // which bits_per_key has no room is left out. Empty: the builder chooses.
  std::string range_prefixes;

  // Returns an empty string, or one line: the invalid option, its value and the
  // legal range.
  std::string Validate() const;
};

// Collects keys and builds one range filter; can be used again after Finish.
// Not thread-safe. The constructor throws std::invalid_argument with the text
// of Validate(), or std::bad_alloc; AddSample throws std::bad_alloc.
class DELTABLOOM_EXPORT RangeFilterBuilder {
 public:
  explicit RangeFilterBuilder(const RangeFilterOptions& options = {});
  ~RangeFilterBuilder();
  RangeFilterBuilder(RangeFilterBuilder&&) noexcept;
  RangeFilterBuilder& operator=(RangeFilterBuilder&&) noexcept;

  // Adds a sample of the ranges that will be looked up. Call it before AddKey.
  // The builder chooses what it stores so that few of the samples without a key
  // match; some hundreds of them are enough. A sample of weight 2 counts as
  // two; one whose weight is not positive is ignored. Only the first 1,024
  // bytes of each bound are used. The samples are kept for all filters of this
  // builder.
  void AddSample(std::string_view lower, std::string_view upper,
                 double weight = 1);

  // Adds a key of any bytes and any length, including none. Equal keys count
  // once. REQUIRES: key >= every key added since construction or the last
  // Finish; otherwise Finish returns false.
  void AddKey(std::string_view key) noexcept;

  // Returns the most temporary memory that Finish would need now, in bytes,
  // without the filter: 26 bytes per key; each key without the bytes that it
  // shares with the one before; and the samples, each with the two keys around
  // it if it holds none. Of a key only the first 1,024 bytes are kept.
  uint64_t BuildBytes() const;

  // Appends the filter to *dst and leaves the builder empty. Returns false and
  // appends nothing if the keys were not in order, there was no key, too little
  // memory, or too few bits. Treat every range as "may match" then.
  bool Finish(std::string* dst) noexcept;

 private:
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

// A view over the bytes of a range filter, parsed once; the bytes must outlive
// it. Bytes that are not a known filter answer "may match". Thread-safe.
class DELTABLOOM_EXPORT RangeFilter {
 public:
  // Throws std::bad_alloc.
  explicit RangeFilter(std::string_view filter);
  ~RangeFilter();
  RangeFilter(RangeFilter&&) noexcept;
  RangeFilter& operator=(RangeFilter&&) noexcept;

  // Returns false only if lower < upper and no added key k has lower <= k <
  // upper. Without `upper` the range has no end: the answer is false only if
  // every key is below `lower`.
  bool MayMatch(std::string_view lower,
                std::optional<std::string_view> upper) const;

  // Describes the bytes in one line.
  std::string Describe() const;

 private:
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

}  // namespace deltabloom

#endif  // DELTABLOOM_RANGE_FILTER_H_
