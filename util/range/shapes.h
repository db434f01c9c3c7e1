// The keys of which a range part is built, and its two shapes (docs/format.md,
// "Numbers" and "Prefixes").
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "util/coding.h"
#include "util/layouts/layout.h"

namespace deltabloom::internal::range {

// --- Keys -------------------------------------------------------------------

inline unsigned char ByteAt(std::string_view text, size_t i) {
  return static_cast<unsigned char>(text[i]);
}

// The number of bytes with which both keys begin.
inline size_t CommonPrefix(std::string_view a, std::string_view b) {
  const size_t end = std::min(a.size(), b.size());
  size_t i = 0;
  while (i + 8 <= end) {
    const uint64_t difference =
        LoadFixed64(a.data() + i) ^ LoadFixed64(b.data() + i);
    if (difference != 0) {
      return i + static_cast<size_t>(__builtin_ctzll(difference)) / 8;
    }
    i += 8;
    // The last step begins earlier.
    if (i < end && i + 8 > end) i = end - 8;
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

// Keys of one size, each byte of which is between two bounds.
struct Digits {
  const unsigned char* least = nullptr;
  const unsigned char* most = nullptr;
  size_t width = 0;
  size_t constant = 0;  // bytes at the front whose bounds are equal

  // False if there are more than 2^64 keys of this form.
  bool Count() const;
  // How many of them are smaller than `bound`, bytewise. False: 2^64 or all.
  bool Below(std::string_view bound, uint64_t* keys) const;
};

// Keeps the first kMaxCutBytes bytes of each key, without those that it shares
// with the previous one.
class KeyStore {
 public:
  // For keys of one size up to this the bytes at each place are known, too.
  static constexpr size_t kMaxWidth = 255;
  static constexpr size_t kStep = 32;  // bytes copied at a time

  // Equal neighbours count once. False if the key is smaller than the last,
  // with which it has `shared` bytes in common.
  bool Add(std::string_view key, size_t shared);

  uint64_t size() const { return size_; }
  size_t MemorySize() const;

  // Whether all keys have Width() bytes, no more than kMaxWidth.
  bool OneWidth() const { return size_ > 0 && one_width_; }
  size_t Width() const { return last_size_; }
  // The least and the largest byte at each place, if the keys can be numbers.
  const unsigned char* Least() const { return least_.data(); }
  const unsigned char* Most() const { return most_.data(); }
  Digits DigitsOfKeys() const { return {Least(), Most(), Width()}; }
  size_t LeastSize() const { return least_size_; }
  // The first kMaxCutBytes bytes of the first key. REQUIRES: size() > 0.
  std::string_view First() const;
  std::string_view Last() const { return {last_.data(), last_size_}; }
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
    unsigned shared_bits() const { return shared_bits_; }

   private:
    const KeyStore* store_;
    size_t chunk_ = 0;
    size_t at_ = 0;
    size_t size_ = 0;
    size_t shared_ = 0;
    unsigned shared_bits_ = 0;
    char key_[kMaxCutBytes + kStep];
  };

 private:
  struct Chunk {
    std::unique_ptr<char[]> bytes;
    size_t size;
  };

  void CountCommonBits(std::string_view key, size_t shared);
  void NoteBytes(std::string_view key);

  // For each key the shared bytes, the size of the rest, the rest.
  std::vector<Chunk> chunks_;
  uint64_t size_ = 0;
  std::vector<char> last_;  // and kStep bytes more
  size_t last_size_ = 0;
  bool one_width_ = true;
  bool may_be_numbers_ = true;  // no more than 2^64 keys of this form
  std::vector<unsigned char> least_, most_;
  size_t least_size_ = ~size_t{0};
  // Keys that have this many bits in common with the previous one.
  std::vector<uint64_t> common_bits_;
};

enum class Answer : uint8_t {
  kNo,  // no key is in the range
  kMayMatch,
  kNoCut,  // may match: no cut can reject this range
};

// --- Numbers ----------------------------------------------------------------
//
// For keys of one size that are numbers in some base: integers, decimal digits,
// times, and several of them in a row.
//
// A key's number is reduced to a code below r as in Grafite, which keeps near
// numbers near and spreads far ones, and the codes are kept in Elias-Fano form.
// A range of l numbers is one of at most l / 2^unit + 1 codes in a row; for n
// keys each of them is taken with a probability of at most n / r, which is
// 1 / 2^(B-2) at B bits per key, unless a key is within 2^unit of its ends.

// The length of ranges that shall be answered well: see UnitOf.
inline constexpr uint64_t kRangeLength = 1024;

// Ascending numbers as Elias-Fano codes (docs/format.md, "Codes").
struct CodesShape {
  unsigned low_bits = 0;
  uint64_t buckets = 0;

  // Codes are smaller than this.
  uint64_t Universe() const { return buckets << low_bits; }
};

// A view. Any bytes are safe.
class Numbers {
 public:
  // False, and nothing else may be called then, if the body breaks a rule.
  bool Parse(std::string_view body);

  // REQUIRES: lower < upper. Without `upper` the range is open.
  Answer Ask(std::string_view lower,
             std::optional<std::string_view> upper) const;
  bool HasKeyFrom(std::string_view bound) const;
  bool HasKeyBelow(std::string_view bound) const;
  std::string Describe() const;

 private:
  static constexpr uint64_t kNowhere = ~uint64_t{0};

  bool MayMatch(std::string_view lower, std::string_view upper) const;
  bool ParseCodes(std::string_view bytes);
  uint64_t UpperWord(uint64_t i) const;
  uint64_t Low(uint64_t i) const;
  uint64_t StartOfBucket(uint64_t bucket) const;
  uint64_t EndOfBucket(uint64_t start) const;
  // Whether a code is in [first, last]. True for bytes that contradict
  // themselves.
  bool AnyIn(uint64_t first, uint64_t last) const;
  bool AnyCode(uint64_t first, uint64_t last) const;

  Digits digits_;
  uint64_t base_ = 0;
  uint64_t span_ = 0;
  unsigned unit_ = 0;
  // The codes.
  CodesShape shape_;
  uint64_t universe_ = 0;
  uint64_t count_ = 0;
  uint64_t upper_bits_ = 0;
  uint64_t upper_words_ = 0;
  const unsigned char* samples_ = nullptr;
  const unsigned char* upper_ = nullptr;
  const unsigned char* low_ = nullptr;
};

bool AreNumbers(const KeyStore& keys);
// Whether bytes that differ from key to key lie on both sides of constant ones,
// as in several integers in a row.
bool AreComposite(const KeyStore& keys);

struct NumbersPlan {
  CodesShape shape;  // without buckets: the keys do not fit
  uint64_t base = 0;
  uint64_t span = 0;
  unsigned unit = 0;
  std::vector<uint64_t> numbers;  // of the keys, less base
};

// Plans a body of no more than `bytes`. REQUIRES: AreNumbers(keys).
NumbersPlan PlanNumbers(const KeyStore& keys, uint64_t bytes,
                        uint64_t range_length);
// How many of the ranges are likely to pass it.
double NumbersPassing(const KeyStore& keys, const NumbersPlan& plan,
                      const std::vector<EmptyRange>& ranges);
// What these functions allocate per key.
inline constexpr uint64_t kNumbersBytesPerKey = 16;
// REQUIRES: the plan has buckets.
void AppendNumbers(const KeyStore& keys, NumbersPlan plan, std::string* dst);

// --- Prefixes ---------------------------------------------------------------
//
// Filters of key prefixes at a few cuts. A range whose possible keys have few
// prefixes at a cut is empty if the cut's filter holds none of them.

// A monotone map of keys to prefixes.
struct Cut {
  // 0: the first `bits` bits of a key, padded with zeros to whole bytes.
  // Else: up to and including the count-th `byte`, if that is within the first
  // kMaxCutBytes bytes; other keys have none.
  uint8_t count = 0;
  uint8_t byte = 0;
  uint16_t bits = 0;
};

inline constexpr size_t kMaxCuts = 16;
inline constexpr unsigned kMaxCutBits = 8 * kMaxCutBytes;
// A cut answers ranges whose keys have no more prefixes there.
inline constexpr uint64_t kMaxPrefixesPerRange = 8;

inline constexpr size_t kCutSize = 8;  // in the table of cuts
// Added to the number of cuts if a sample of ranges chose them.
inline constexpr unsigned kLearned = 0x80;

// Cuts as text, as in RangeFilterOptions::range_prefixes. False, and *cuts
// undefined, if the text is not valid; kCutsSyntax says what is.
bool ParseCuts(std::string_view text, std::vector<Cut>* cuts);

inline constexpr char kCutsSyntax[] =
    "up to 16 prefixes, separated by commas: lengths in bytes (8) or bits "
    "(20b), at most 128 bytes, or delimiters by how often they occur ('/'x3, "
    "or by their byte 0x2fx3)";

std::string TextOf(const Cut& cut);

// The prefix of a key, empty if it has none: in `bytes`, which has
// kMaxCutBytes, or a part of the key.
std::string_view PrefixOf(const Cut& cut, std::string_view key, char* bytes);

// Whether the hash of its prefix is Hash64OfBits(), which needs no copy.
inline bool HasHashOfBits(const Cut& cut, std::string_view key) {
  return cut.bits % 8 != 0 && 8 * key.size() >= std::max<size_t>(cut.bits, 64);
}

// A range of keys, lower <= k < upper. REQUIRES: lower < upper.
struct KeyRange {
  KeyRange(std::string_view lower, std::string_view upper);

  std::string_view lower, upper;
  size_t equal;   // bytes with which both begin
  size_t common;  // bytes of `lower` with which all keys in the range begin
};

// The prefixes at a cut that keys in a range can have, one after the other.
class PrefixesOfRange {
 public:
  // `least_size`: no key is shorter. `range` and `cut` must outlive this.
  PrefixesOfRange(const Cut& cut, const KeyRange& range, size_t least_size);

  // False if there are more than kMaxPrefixesPerRange, or if keys in the range
  // need not have a prefix here.
  bool known() const { return known_; }
  uint64_t left() const { return left_; }
  // REQUIRES: left() > 0.
  std::string_view prefix() const { return prefix_; }
  void Next();

 private:
  const Cut& cut_;
  bool known_ = false;
  uint64_t left_ = 0;
  std::string_view prefix_;
  char bytes_[kMaxCutBytes];
};

// A view. Any bytes are safe.
class Prefixes {
 public:
  // False, and nothing else may be called then, if the body breaks a rule.
  bool Parse(std::string_view body);

  // REQUIRES: lower < upper. Without `upper` the range is open.
  Answer Ask(std::string_view lower,
             std::optional<std::string_view> upper) const;
  bool HasKeyFrom(std::string_view bound) const {
    return bound <= std::max(first_, last_);
  }
  bool HasKeyBelow(std::string_view bound) const {
    return first_ < bound.substr(0, first_.size());
  }
  // None unless a sample of ranges chose them.
  std::vector<Cut> LearnedCuts() const;
  std::string Describe() const;

 private:
  struct CutFilter {
    Cut cut;
    uint64_t size = 0;
    bool usable = false;
    ParsedFilter filter;
  };

  size_t least_size_ = 0;
  // What the first and the last key begin with, or all of them.
  std::string_view first_, last_;
  size_t cuts_count_ = 0;
  bool learned_ = false;
  std::array<CutFilter, kMaxCuts> cuts_;  // the deepest first
};

struct PlannedCut {
  Cut cut;
  uint64_t prefixes = 0;  // distinct
  unsigned bits = 0;      // per prefix
  Layout layout = Layout::kCompact;
  double rejects = 0;  // of the ranges
};

struct PrefixesPlan {
  std::vector<PlannedCut> cuts;  // none if there is no use for any
  double passing = 0;            // how many of the ranges are likely to pass
};

// Plans a body of no more than `bytes`: with the `fixed` cuts, or, if there are
// none, with cuts that the ranges decide, or the keys alone, of which those
// that the ranges of another part decided (`learned`) count more. The same
// arguments give the same plan.
PrefixesPlan PlanPrefixes(const KeyStore& keys, uint64_t bytes,
                          const std::vector<EmptyRange>& ranges,
                          const std::vector<Cut>& fixed,
                          const std::vector<Cut>& learned);

// Allocated per key at most; a sample takes 16 more, fixed cuts 8 more each.
inline constexpr uint64_t kPrefixesBytesPerKey = 26;
void AppendPrefixes(const KeyStore& keys, const std::vector<PlannedCut>& cuts,
                    bool learned, std::string* dst);

}  // namespace deltabloom::internal::range
