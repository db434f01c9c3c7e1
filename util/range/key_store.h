// Keys in ascending order, kept until the range part of a filter is built.
#ifndef DELTABLOOM_UTIL_RANGE_KEY_STORE_H_
#define DELTABLOOM_UTIL_RANGE_KEY_STORE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "util/coding.h"

namespace deltabloom::internal::range {

// The number of bytes with which both keys begin.
inline size_t CommonPrefix(std::string_view a, std::string_view b) {
  const size_t end = std::min(a.size(), b.size());
  size_t i = 0;
  for (; i + 8 <= end; i += 8) {
    const uint64_t difference =
        LoadFixed64(a.data() + i) ^ LoadFixed64(b.data() + i);
    if (difference != 0) {
      return i + static_cast<size_t>(__builtin_ctzll(difference)) / 8;
    }
  }
  while (i < end && a[i] == b[i]) ++i;
  return i;
}

// Cuts into keys lie within this many of their first bytes.
inline constexpr size_t kMaxCutBytes = 128;

// A range without keys, looked up or made up, and the keys around it.
struct EmptyRange {
  std::string lower, upper;
  std::string before, after;
  double weight = 1;
};

// Keeps the first kMaxCutBytes bytes of each key, without those that it shares
// with the previous one.
class KeyStore {
 public:
  // For keys of one size up to this the bytes at each place are known, too.
  static constexpr size_t kMaxWidth = 255;

  // Equal neighbours count once. False if the key is smaller than the last.
  bool Add(std::string_view key);

  uint64_t size() const { return size_; }
  size_t MemorySize() const;

  // Whether all keys have Width() bytes, no more than kMaxWidth.
  bool OneWidth() const { return size_ > 0 && one_width_; }
  size_t Width() const { return last_.size(); }
  // The least and the largest byte at each place.
  const unsigned char* Least() const { return least_.data(); }
  const unsigned char* Most() const { return most_.data(); }
  size_t LeastSize() const { return least_size_; }
  const std::string& Last() const { return last_; }
  // Distinct prefixes of `bits` bits, padded with zeros. REQUIRES: size() > 0,
  // bits <= 8 * kMaxCutBytes.
  uint64_t DistinctPrefixes(unsigned bits) const;

  // Reads what is kept, from the first key on.
  class Cursor {
   public:
    explicit Cursor(const KeyStore& store) : store_(&store) {}
    bool Next();
    std::string_view key() const { return {key_, size_}; }
    // Bytes that it shares with the previous one, and bits.
    size_t shared() const { return shared_; }
    unsigned shared_bits() const;

   private:
    const KeyStore* store_;
    size_t chunk_ = 0;
    size_t at_ = 0;
    size_t size_ = 0;
    size_t shared_ = 0;
    unsigned char different_ = 0;  // bits, in the byte after those shared
    char key_[kMaxCutBytes];
  };

 private:
  void CountCommonBits(std::string_view key, size_t shared);
  void NoteBytes(std::string_view key);

  // For each key the shared bytes, the size of the rest, the rest.
  std::vector<std::string> chunks_;
  uint64_t size_ = 0;
  std::string last_;
  bool one_width_ = true;
  std::vector<unsigned char> least_, most_;
  size_t least_size_ = ~size_t{0};
  // Keys that have this many bits in common with the previous one.
  std::vector<uint64_t> common_bits_;
};

}  // namespace deltabloom::internal::range

#endif  // DELTABLOOM_UTIL_RANGE_KEY_STORE_H_
