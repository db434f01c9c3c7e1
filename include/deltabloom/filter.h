// Filters as plain bytes: build them from keys, query them for keys.
//
// A filter answers the question "may this key have been added?". The answer is
// never no for a key that was added. For other keys it is yes at a small rate,
// the false-positive rate. docs/format.md defines every byte of these *raw*
// filters. Store them under a checksum: a filter cannot detect most changed
// bits.
#ifndef DELTABLOOM_FILTER_H_
#define DELTABLOOM_FILTER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "deltabloom/export.h"

namespace deltabloom {

// The format of a filter (docs/format.md has a chapter for each).
enum class Layout : uint8_t {
  kClassic,  // LevelDB-style Bloom filter, for compatibility and small filters
  kLocal,    // Bloom filter in blocks of 64 bytes: the fastest
  kCompact,  // bumped ribbon: the smallest; filters of few keys are local
};

// Returns "classic", "local" or "compact"; null for any other value.
DELTABLOOM_EXPORT const char* LayoutName(Layout layout);

// Sets *layout to the layout of that name. Returns false without a change if
// there is none.
DELTABLOOM_EXPORT bool ParseLayout(std::string_view name, Layout* layout);

// The hash of a classic filter. It is not stored in the bytes, so the name that
// is stored beside them must say it (see FilterPolicy::Name). A filter that is
// read with the other hash loses keys.
enum class Hash : uint8_t {
  kMurmurHash2,  // Appleby's MurmurHash2, seed 0xbc9f1d34: Deltabloom's own
  kLevelDB,      // LevelDB's hash: filters equal LevelDB's byte for byte
};

struct DELTABLOOM_EXPORT FilterOptions {
  // Bits of filter per added key, rounded to thousandths. Legal: 0 to 1000. A
  // classic filter has max(64, keys * bits_per_key) bits and k = bits_per_key *
  // 0.69 probes (0.69 ~ ln 2), clamped to 1..30. From 32 KiB on, one with
  // MurmurHash2 has up to 36 bytes more (docs/format.md, "Good sizes").
  double bits_per_key = 10;

  Layout layout = Layout::kClassic;

  // Hash::kLevelDB is legal only with the classic layout.
  Hash hash = Hash::kMurmurHash2;

  // Limit of the temporary memory for building a filter, in bytes. 0: no limit.
  // A layout that needs more is replaced by its fallback. The last fallback
  // needs only the list of hashes (4 bytes per key for classic, 8 for the
  // others), and is built whatever the limit.
  uint64_t max_build_bytes = 0;

  // Returns an empty string, or one line: the invalid option, its value and the
  // legal range.
  std::string Validate() const;
};

// Collects keys and builds one filter; can be used again after Finish. Every
// added key counts towards the size, duplicates too. Not thread-safe. The
// constructor throws std::invalid_argument with the text of Validate(); any
// call may throw std::bad_alloc, after which the builder can only be destroyed.
class DELTABLOOM_EXPORT FilterBuilder {
 public:
  explicit FilterBuilder(const FilterOptions& options = {});
  ~FilterBuilder();
  FilterBuilder(FilterBuilder&&) noexcept;
  FilterBuilder& operator=(FilterBuilder&&) noexcept;

  // Adds a key of any bytes and any length, including none.
  void AddKey(std::string_view key);

  // Returns the number of keys added since construction or the last Finish.
  uint64_t KeysAdded() const;

  // Returns the number of bytes that Finish would append now, unless the layout
  // has to fall back.
  uint64_t FilterSize() const;

  // Returns the most temporary memory that Finish would need now, in bytes.
  uint64_t BuildBytes() const;

  // Appends the filter to *dst and leaves the builder empty.
  void Finish(std::string* dst);

 private:
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

namespace internal {
struct ParsedFilter;
}  // namespace internal

// A view over filter bytes, parsed once; the bytes must outlive it. Any bytes
// are safe: those that are not a known filter answer "may match". A filter of
// fewer than two bytes holds no key, as in LevelDB. Thread-safe.
class DELTABLOOM_EXPORT Filter {
 public:
  explicit Filter(std::string_view filter, Hash hash = Hash::kMurmurHash2);

  // Returns false only if `key` was not added.
  bool MayMatch(std::string_view key) const {
    return may_match_(Parsed(), key);
  }

  // Sets may_match[i] to MayMatch(keys[i]) for every i in [0, n). The memory
  // accesses of several keys overlap: with classic and large filters this takes
  // about half the time of single calls, with local and compact ones of a few
  // KiB a little more than single calls.
  void MayMatch(const std::string_view* keys, size_t n, bool* may_match) const;

 private:
  const internal::ParsedFilter& Parsed() const {
    return *reinterpret_cast<const internal::ParsedFilter*>(parsed_);
  }

  // The lookup for the layout of the filter and this CPU.
  bool (*may_match_)(const internal::ParsedFilter&, std::string_view key);
  // Holds a ParsedFilter, which may change and grow without a change of this
  // header.
  alignas(8) unsigned char parsed_[120];
};

// Describes raw filter bytes in one line: "classic, 6 probes, 80 bits", or the
// reason why every key matches or none does.
DELTABLOOM_EXPORT std::string DescribeFilter(std::string_view filter);

}  // namespace deltabloom

#endif  // DELTABLOOM_FILTER_H_
