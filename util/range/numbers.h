// The shape "numbers" of a range part, for keys of one size that are numbers in
// some base: integers, decimal digits, times, and several of them in a row.
//
// A key's number is reduced as in Grafite (Costa, Ferragina, Vinciguerra:
// "Grafite: Taming Adversarial Queries with Optimal Range Filters", 2024),
// which keeps near numbers near and spreads far ones:
//
//   y = number >> unit      h(y) = (q(floor(y / r)) + y) mod r
//
// and the codes h of all keys are kept in Elias-Fano form. A range of l numbers
// is one of at most l / 2^unit + 1 codes in a row; for n keys each of them is
// taken with a probability of at most n / r, which is 1 / 2^(B-2) at B bits per
// key. That is the rate of ranges with no key within 2^unit of their ends,
// whatever the keys and wherever the range lies. Where the numbers from the
// first key to the last fit into r codes, only what is that near matters.
#ifndef DELTABLOOM_UTIL_RANGE_NUMBERS_H_
#define DELTABLOOM_UTIL_RANGE_NUMBERS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "util/hash64.h"
#include "util/range/key_store.h"

namespace deltabloom::internal::range {

// The length of ranges that shall be answered well: see UnitOf.
inline constexpr uint64_t kRangeLength = 1024;

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

 private:
  uint64_t CountFrom(size_t i) const;
};

// Ascending numbers in little more than their entropy, with fast questions:
// Elias-Fano codes (Elias 1974, Fano 1971). docs/format.md, "Codes".
struct CodesShape {
  unsigned low_bits = 0;
  uint64_t buckets = 0;

  // Codes are smaller than this.
  uint64_t Universe() const { return buckets << low_bits; }
};

// A view. Any bytes are safe.
class Codes {
 public:
  // False, and nothing else may be called then, unless the sizes are right.
  bool Parse(std::string_view bytes);

  uint64_t count() const { return count_; }
  const CodesShape& shape() const { return shape_; }

  // Whether a code is in [first, last]. True for bytes that contradict
  // themselves.
  bool AnyIn(uint64_t first, uint64_t last) const;

 private:
  static constexpr uint64_t kNowhere = ~uint64_t{0};

  uint64_t UpperWord(uint64_t i) const;
  uint64_t Low(uint64_t i) const;
  uint64_t StartOfBucket(uint64_t bucket) const;
  uint64_t EndOfBucket(uint64_t start) const;

  uint64_t count_ = 0;
  CodesShape shape_;
  uint64_t upper_bits_ = 0;
  uint64_t upper_words_ = 0;
  const unsigned char* samples_ = nullptr;
  const unsigned char* upper_ = nullptr;
  const unsigned char* low_ = nullptr;
};

class Numbers {
 public:
  // False, and nothing else may be called then, if the body makes no sense.
  bool Parse(std::string_view body);

  bool MayMatch(std::string_view lower, std::string_view upper) const;
  bool HasKeyFrom(std::string_view bound) const;
  std::string Describe() const;

 private:
  bool AnyCode(uint64_t first, uint64_t last) const;

  Digits digits_;
  uint64_t base_ = 0;
  uint64_t span_ = 0;
  unsigned unit_ = 0;
  uint64_t universe_ = 0;
  Codes codes_;
};

// The reduction: where a block of `universe` numbers begins, q above; the first
// stays in its place.
inline uint64_t BlockShift(uint64_t block, uint64_t universe) {
  if (block == 0) return 0;
  return ScaleHash(Remix64(block, 0), universe);
}

inline uint64_t Reduced(uint64_t number, uint64_t universe) {
  const uint64_t block = number / universe;
  const uint64_t sum = number - block * universe + BlockShift(block, universe);
  return sum < universe ? sum : sum - universe;
}

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

}  // namespace deltabloom::internal::range

#endif  // DELTABLOOM_UTIL_RANGE_NUMBERS_H_
