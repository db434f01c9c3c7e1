// Range filters as plain bytes. A range filter answers "may a key k with lower
// <= k < upper have been added?". The answer is never no for a range that holds
// a key. It saves a read for most scans of empty ranges whose keys share a
// declared prefix. docs/format.md, chapter "Range filter", has the rule, with
// examples, and defines every byte. Store the bytes under a checksum: not every
// changed bit can be detected.
//
// Keys are ordered by their bytes, as unsigned numbers. Integers have that
// order if they are big-endian, and signed ones if their highest bit is flipped
// as well.
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
  // Bits of filter per added key. Legal: above 0, up to 1000. The prefixes of
  // all keys share these bits evenly, up to 16 for each. A filter may take 4
  // KiB more, however few keys it has, and some 100 bytes for the declaration
  // and the ends of the keys.
  double bits_per_key = 8;

  // The places at which prefixes of keys end, separated by commas. A range can
  // be rejected if its keys share such a prefix. At most 16 places, and
  // prefixes of at most 1,024 bytes.
  //   8           after 8 bytes
  //   56b         after 56 bits; a range asks for up to 8 consecutive ones
  //   '/'         after every '/', up to the 16th; any byte as 0x2f
  //   '/'x3       after the third '/'
  //   '/'x3+8     8 bytes after the third '/'; in bits '/'x3+20b
  //   kvrocks@1   where a function says that components end, one of those of
  //               prefix_function.h that are registered from the start
  // "auto": every delimiter of ASCII punctuation that nine in ten keys have.
  std::string prefixes = "auto";

  // Returns an empty string, or one line: the invalid option, its value and the
  // legal range.
  std::string Validate() const;
};

// Collects keys and builds one range filter; can be used again after Finish.
// Not thread-safe. The constructor throws std::invalid_argument with the text
// of Validate(), or std::bad_alloc.
class DELTABLOOM_EXPORT RangeFilterBuilder {
 public:
  explicit RangeFilterBuilder(const RangeFilterOptions& options = {});
  ~RangeFilterBuilder();
  RangeFilterBuilder(RangeFilterBuilder&&) noexcept;
  RangeFilterBuilder& operator=(RangeFilterBuilder&&) noexcept;

  // Adds a key of any bytes and any length, including none. Equal keys count
  // once. REQUIRES: key >= every key added since construction or the last
  // Finish; otherwise Finish returns false.
  void AddKey(std::string_view key) noexcept;

  // Returns the most memory that Finish would need now, in bytes, without the
  // filter: 8 bytes per prefix, and what the filter takes to build.
  uint64_t BuildBytes() const;

  // Appends the filter to *dst and leaves the builder empty. Returns false and
  // appends nothing if the keys were not in order, or if there was no key, too
  // little memory, fewer than 2 bits for each prefix, or no delimiter for
  // "auto". Treat every range as "may match" then.
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
  // upper. Without `upper` the range has no end.
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
