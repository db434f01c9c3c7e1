// Builds range filters.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "util/hash_list.h"
#include "util/range/key_range.h"
#include "util/range/places.h"
#include "util/range/prefixes_option.h"

namespace deltabloom::internal::range {

// The fewest bits per prefix: with fewer than the former, the place with the
// most prefixes is left out, unless it is the last one; with fewer than the
// latter there is no filter. With 4 bits a filter lets a twelfth of the empty
// ranges through, with 2 a third.
inline constexpr double kLeastBitsOfSeveral = 4;
inline constexpr double kLeastBits = 2;
// The most bits per prefix: a filter then lets 1 in 65,000 empty ranges
// through.
inline constexpr double kMostBits = 16;

// Builds one range filter of keys that come in the order of their bytes, or in
// its reverse. Equal neighbours count once. Each function throws
// std::bad_alloc, and what a prefix function throws.
class FilterBuilder {
 public:
  FilterBuilder(const PlacesToHold& places, Order order, double bits_per_key);

  // Returns false, and does not add the key, if it is out of order.
  bool Add(std::string_view key);

  // The distinct keys.
  uint64_t keys() const { return keys_; }
  // The bytes that the prefixes take until they are in a filter.
  uint64_t MemorySize() const;
  struct Limits {
    // Bytes that the filter may take in addition to the bits of its keys: a
    // data block, the least that one needless scan of the table reads. Without
    // it, small tables in which each key has prefixes of its own would let many
    // scans through, though their filters are a small part of all.
    uint64_t more_bytes = 4096;
    uint64_t bytes = std::numeric_limits<uint64_t>::max();  // of the filter
    uint64_t build_bytes = 0;  // that Finish may hold; 0: any
  };
  // The most bytes that Finish would hold at a time.
  uint64_t BuildBytes(const Limits& limits) const;
  // Appends the range filter to *dst. Returns an empty text, or says why there
  // is no filter. Nothing else may be called afterwards.
  std::string Finish(const Limits& limits, std::string* dst);

 private:
  // The hashes of the prefixes that end at these places of their keys, and at
  // no other.
  struct Group {
    uint32_t places;
    HashList hashes{8};
  };
  struct End {
    size_t bits;
    uint32_t places;
  };
  // The choices of Finish.
  struct Plan {
    uint32_t declared = 0;  // places
    uint32_t held = 0;      // those of them that are not left out
    uint64_t prefixes = 0;
    double bits = 0;  // per prefix
  };

  void AddPrefixes(std::string_view key, size_t shared);
  void AddPrefix(std::string_view key, const End& end);
  uint64_t CountPrefixes(uint32_t places) const;
  uint32_t DeclaredPlaces() const;
  uint32_t LargestOf(uint32_t places) const;
  double BitsOf(const Limits& limits) const;
  Plan MakePlan(double bits) const;
  std::string DeclarationOf(uint32_t places) const;
  HashList TakeHashes(uint32_t places);
  std::string_view EndOfKeys(std::string_view key) const;

  const Places places_;
  const bool automatic_;
  const Order order_;
  const double bits_per_key_;
  uint32_t windows_ = 0;  // places

  uint64_t keys_ = 0;
  std::string first_, last_;
  std::vector<Group> groups_;
  Places::Found found_;    // in the last key
  std::vector<End> ends_;  // of the key that is added
  // The keys that have each place, if the places are candidates.
  std::array<uint64_t, Places::kMost> keys_with_{};
  // The hash of each place's last window.
  uint32_t windows_seen_ = 0;
  std::array<uint64_t, Places::kMost> last_window_{};
};

}  // namespace deltabloom::internal::range
