// The shape "numbers" of a range filter (docs/format.md, "Numbers").
//
// For keys of one size that are numbers in some base: integers, decimal digits,
// times, and several of them in a row.
//
// A key's number is reduced to a code below r as in Grafite, which keeps near
// numbers near and spreads far ones, and the codes are kept in Elias-Fano form.
// A range of l numbers is one of at most l / 2^unit + 1 codes in a row; for n
// keys each of them is taken with a probability of at most n / r, which is
// 1 / 2^(B-2) at B bits per key, unless a key is within 2^unit of its ends.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "util/range/answer.h"
#include "util/range/choice.h"
#include "util/range/key_store.h"

namespace deltabloom::internal::range {

// The length of ranges that shall be answered well if none is given: see
// UnitOf.
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
  std::string Describe() const;

 private:
  static constexpr uint64_t kNowhere = ~uint64_t{0};

  bool MayMatch(std::string_view lower, std::string_view upper) const;
  bool ParseCodes(std::string_view bytes);
  uint64_t UpperWord(uint64_t i) const;
  uint64_t Low(uint64_t i) const;
  uint64_t StartOfBucket(uint64_t bucket) const;
  uint64_t EndOfBucket(uint64_t start) const;
  // Returns whether a code is in [first, last]. True for bytes that contradict
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
  const unsigned char* starts_ = nullptr;
  const unsigned char* upper_ = nullptr;
  const unsigned char* low_ = nullptr;
};

bool AreNumbers(const KeyStore& keys);

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
// How much weight of the samples is likely to pass it.
double NumbersPassing(const KeyStore& keys, const NumbersPlan& plan,
                      const std::vector<Sample>& samples);
// These functions allocate this much per key.
inline constexpr uint64_t kNumbersBytesPerKey = 16;
// REQUIRES: the plan has buckets.
void AppendNumbers(const KeyStore& keys, NumbersPlan plan, std::string* dst);

}  // namespace deltabloom::internal::range
