// A set of ascending numbers, called codes, in Elias-Fano form (docs/format.md,
// "Codes").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace deltabloom::internal::range {

struct CodesShape {
  unsigned low_bits = 0;
  uint64_t buckets = 0;

  // Codes are smaller than this.
  uint64_t Universe() const { return buckets << low_bits; }
};

// --- Reading ----------------------------------------------------------------

// A view. Any bytes are safe.
class Codes {
 public:
  // Returns false if the bytes break a rule; nothing else may be called then.
  bool Parse(std::string_view bytes);

  uint64_t count() const { return count_; }
  uint64_t universe() const { return universe_; }

  // Returns whether a code is in [first, last]. True for bytes that contradict
  // themselves.
  bool AnyIn(uint64_t first, uint64_t last) const;

 private:
  static constexpr uint64_t kNowhere = ~uint64_t{0};

  uint64_t UpperWord(uint64_t i) const;
  uint64_t Low(uint64_t i) const;
  uint64_t StartOfBucket(uint64_t bucket) const;
  uint64_t EndOfBucket(uint64_t start) const;

  CodesShape shape_;
  uint64_t universe_ = 0;
  uint64_t count_ = 0;
  uint64_t upper_bits_ = 0;
  uint64_t upper_words_ = 0;
  const unsigned char* starts_ = nullptr;
  const unsigned char* upper_ = nullptr;
  const unsigned char* low_ = nullptr;
};

// --- Writing ----------------------------------------------------------------

// The bytes of `count` codes of this shape.
uint64_t CodesSize(uint64_t count, const CodesShape& shape);

// The shape with the largest universe in which `count` codes take no more than
// `bytes` bytes; it has no buckets if there is none.
CodesShape LargestShape(uint64_t count, uint64_t bytes);

// The shape with the fewest bytes for `count` codes smaller than `universe`.
CodesShape ShapeForUniverse(uint64_t count, uint64_t universe);

// REQUIRES: the codes ascend and are smaller than shape.Universe().
void AppendCodes(const std::vector<uint64_t>& codes, const CodesShape& shape,
                 std::string* dst);

}  // namespace deltabloom::internal::range
