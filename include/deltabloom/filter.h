// Filters as plain bytes: build them from keys, ask them for keys.
//
// A filter answers "may this key have been added?". It never answers no for a
// key that was added; for other keys it answers yes at a small rate, the
// false-positive rate. docs/format.md defines every byte.
//
// The bytes here are *raw*: `payload | last byte`, where the last byte is the
// number of probes k of a classic filter (0..30) or the marker of another
// layout (31..255). Store them where a checksum guards them: a changed bit
// inside the legal range cannot be noticed by the filter itself.
#ifndef DELTABLOOM_FILTER_H_
#define DELTABLOOM_FILTER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>

#include "deltabloom/export.h"

namespace deltabloom {

// The bytes a filter is made of (docs/format.md has a chapter for each).
enum class Layout : uint8_t {
  kClassic,  // LevelDB-style Bloom filter, for compatibility and small filters
  kLocal,    // Bloom filter in blocks of 64 bytes: the fastest
  kCompact,  // bumped ribbon: the smallest; local where that pays too little
  kAuto = 255,  // for writers only: see docs/guide.md for what it chooses
};

// "classic", "local", "compact", "auto"; null for a value that is none of them.
DELTABLOOM_EXPORT const char* LayoutName(Layout layout);

// The layout of that name. False, and *layout stays, if there is none.
DELTABLOOM_EXPORT bool ParseLayout(std::string_view name, Layout* layout);

// The hash of a classic filter. The bytes do not tell it: the name under which
// they are stored must (see FilterPolicy::Name). Never mix the two.
enum class Hash : uint8_t {
  kMurmurHash2,  // Appleby's MurmurHash2, seed 0xbc9f1d34: Deltabloom's own
  kLevelDB,      // LevelDB's hash: filters equal LevelDB's byte for byte
};

struct DELTABLOOM_EXPORT FilterOptions {
  // Bits of filter per added key, used to a thousandth. Legal: 0 to 1000.
  // A classic filter has max(64, keys * bits_per_key) bits and
  // k = bits_per_key * 0.69 probes (0.69 ~ ln 2), clamped to 1..30; with
  // MurmurHash2, from 32 KiB on, up to 36 bytes more, where it probes better.
  double bits_per_key = 10;

  Layout layout = Layout::kClassic;

  // With Hash::kLevelDB only the classic layout is legal.
  Hash hash = Hash::kMurmurHash2;

  // The most temporary memory that building a filter may take, list of hashes
  // included; 0: no limit. A layout that would take more is replaced by its
  // fallback, at last a filter that needs nothing but that list: 4 bytes per
  // key for classic, 8 for the others.
  uint64_t max_build_bytes = 0;

  // Empty when the options can be built with; else one line that names the
  // offending option, its value and the legal range.
  std::string Validate() const;
};

// Collects keys and turns them into one filter; usable again after Finish.
// Every added key counts towards the size, duplicates too. Not thread-safe.
//
// Errors: the constructor throws std::invalid_argument with the text of
// Validate(); any call may throw std::bad_alloc, after which the builder can
// only be destroyed.
class DELTABLOOM_EXPORT FilterBuilder {
 public:
  explicit FilterBuilder(const FilterOptions& options = {});
  ~FilterBuilder();
  FilterBuilder(FilterBuilder&&) noexcept;
  FilterBuilder& operator=(FilterBuilder&&) noexcept;

  // Keys may have any bytes and any length, including none.
  void AddKey(std::string_view key);

  // Keys added since construction or the last Finish.
  uint64_t KeysAdded() const;

  // Bytes that Finish would append now, if the layout does not give up.
  uint64_t FilterSize() const;

  // The most temporary memory, in bytes, that Finish would hold at a time now:
  // the list of hashes and what the layout needs besides.
  uint64_t BuildBytes() const;

  // Appends the filter to *dst and leaves the builder empty.
  void Finish(std::string* dst);

 private:
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

namespace internal {

class KeyBatch;

// A plain struct of a layout's own: what the bytes of a filter say.
class AnyShape {
 public:
  template <typename Shape>
  void Set(const Shape& shape) {
    static_assert(sizeof(Shape) <= sizeof(bytes_) && alignof(Shape) <= 8 &&
                  std::is_trivially_copyable<Shape>::value);
    ::new (static_cast<void*>(bytes_)) Shape(shape);
  }
  // The type must be that of the last Set.
  template <typename Shape>
  const Shape& As() const {
    return *std::launder(reinterpret_cast<const Shape*>(bytes_));
  }

 private:
  alignas(8) unsigned char bytes_[40];
};

// Filter bytes after parsing: the layout's functions for this CPU, and what
// they need to know. Not for use outside Deltabloom.
struct ParsedFilter {
  bool (*may_match)(const ParsedFilter&, std::string_view key);
  void (*may_match_many)(const ParsedFilter&, KeyBatch keys, size_t n,
                         bool* may_match);
  const unsigned char* payload;
  uint64_t payload_size;  // bytes
  AnyShape shape;
};

}  // namespace internal

// A view over filter bytes, parsed once; the bytes must outlive it. Any bytes
// are safe. Those that hold no filter this version knows answer "may match";
// none or a single byte answer "holds no key", as in LevelDB. Thread-safe.
class DELTABLOOM_EXPORT Filter {
 public:
  explicit Filter(std::string_view filter, Hash hash = Hash::kMurmurHash2);

  // False only if `key` was not added.
  bool MayMatch(std::string_view key) const {
    return parsed_.may_match(parsed_, key);
  }

  // may_match[i] = MayMatch(keys[i]) for every i in [0, n). The memory of many
  // keys is fetched at the same time: about twice as fast as one by one with
  // classic, and in filters beyond the near caches; local and compact are a
  // little slower than one by one where the filter is a few KiB.
  void MayMatch(const std::string_view* keys, size_t n, bool* may_match) const;

 private:
  internal::ParsedFilter parsed_;
};

// What raw filter bytes are, in one line: "classic, 6 probes, 80 bits", or why
// every key may match or none does.
DELTABLOOM_EXPORT std::string DescribeFilter(std::string_view filter);

}  // namespace deltabloom

#endif  // DELTABLOOM_FILTER_H_
