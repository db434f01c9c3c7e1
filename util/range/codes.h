// Ascending numbers in little more than their entropy, with fast questions:
// Elias-Fano codes (Elias 1974, Fano 1971). docs/format.md, "Codes".
#ifndef DELTABLOOM_UTIL_RANGE_CODES_H_
#define DELTABLOOM_UTIL_RANGE_CODES_H_

#include <cstddef>
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

uint64_t CodesSize(uint64_t count, const CodesShape& shape);

// The shape with the largest universe whose codes take no more than `bytes`
// bytes, without buckets if there is none.
CodesShape LargestShape(uint64_t count, uint64_t bytes);

// The shape with the fewest bytes for codes smaller than `universe`.
CodesShape ShapeForUniverse(uint64_t count, uint64_t universe);

// Appends them; they must ascend and be smaller than the shape's universe.
void AppendCodes(const std::vector<uint64_t>& codes, const CodesShape& shape,
                 std::string* dst);

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

}  // namespace deltabloom::internal::range

#endif  // DELTABLOOM_UTIL_RANGE_CODES_H_
