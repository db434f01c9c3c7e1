#include "util/range/codes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "util/coding.h"
#include "util/range/bytes.h"
#include "util/range/ones.h"

namespace deltabloom::internal::range {
namespace {

constexpr size_t kHeaderSize = 9;
constexpr uint64_t kBucketsPerStart = 256;
constexpr unsigned kMaxLowBits = 31;
// The places of upper bits are stored in 32 bits.
constexpr uint64_t kMaxUpperBits = 0xffffffff;

uint64_t Starts(uint64_t buckets) {
  return (buckets + kBucketsPerStart - 1) / kBucketsPerStart;
}

uint64_t Words(uint64_t bits) { return (bits + 63) / 64; }

}  // namespace

uint64_t CodesSize(uint64_t count, const CodesShape& shape) {
  // There is one word more, so that any low bits can be had by one load.
  return kHeaderSize + 4 * Starts(shape.buckets) +
         8 * (Words(count + shape.buckets) + Words(count * shape.low_bits) + 1);
}

// --- Reading ----------------------------------------------------------------

bool Codes::Parse(std::string_view bytes) {
  if (bytes.size() < kHeaderSize) return false;
  const unsigned char* at = BytesOf(bytes);
  shape_.low_bits = at[0];
  count_ = LoadFixed32(at + 1);
  shape_.buckets = LoadFixed32(at + 5);
  upper_bits_ = count_ + shape_.buckets;
  if (shape_.low_bits > kMaxLowBits || count_ == 0 || shape_.buckets == 0 ||
      upper_bits_ > kMaxUpperBits ||
      CodesSize(count_, shape_) != bytes.size()) {
    return false;
  }
  universe_ = shape_.Universe();
  upper_words_ = Words(upper_bits_);
  starts_ = at + kHeaderSize;
  upper_ = starts_ + 4 * Starts(shape_.buckets);
  low_ = upper_ + 8 * upper_words_;
  return true;
}

inline uint64_t Codes::UpperWord(uint64_t i) const {
  return LoadFixed64(upper_ + 8 * i);
}

inline uint64_t Codes::Low(uint64_t i) const {
  const uint64_t bit = i * shape_.low_bits;
  return LoadFixed64(low_ + bit / 8) >> (bit % 8) &
         ((uint64_t{1} << shape_.low_bits) - 1);
}

// Returns where the ones of a bucket begin: after `bucket` zeros.
uint64_t Codes::StartOfBucket(uint64_t bucket) const {
  const uint64_t start = LoadFixed32(starts_ + 4 * (bucket / kBucketsPerStart));
  uint64_t zeros = bucket % kBucketsPerStart;
  if (zeros == 0) return start <= upper_bits_ ? start : kNowhere;
  uint64_t word = start / 64;
  if (word >= upper_words_) return kNowhere;
  uint64_t bits = ~UpperWord(word) & (~uint64_t{0} << (start % 64));
  for (;;) {
    const unsigned here = CountOnes(bits);
    if (zeros <= here) break;
    zeros -= here;
    if (++word >= upper_words_) return kNowhere;
    bits = ~UpperWord(word);
  }
  return word * 64 + SelectOne(bits, static_cast<unsigned>(zeros) - 1) + 1;
}

// Returns the place of the zero that ends the ones from `start` on.
uint64_t Codes::EndOfBucket(uint64_t start) const {
  uint64_t mask = ~uint64_t{0} << (start % 64);
  for (uint64_t word = start / 64; word < upper_words_; ++word) {
    const uint64_t bits = ~UpperWord(word) & mask;
    if (bits != 0) return word * 64 + TrailingZeros(bits);
    mask = ~uint64_t{0};
  }
  return kNowhere;
}

bool Codes::AnyIn(uint64_t first, uint64_t last) const {
  last = std::min(last, universe_ - 1);
  if (first > last) return false;
  const uint64_t low_mask = (uint64_t{1} << shape_.low_bits) - 1;
  const uint64_t bucket = first >> shape_.low_bits;
  const uint64_t start = StartOfBucket(bucket);
  if (start == kNowhere || start < bucket) return true;
  const uint64_t bucket_end = EndOfBucket(start);
  if (bucket_end == kNowhere) return true;
  // `code` becomes the first code of the bucket that is `first` or larger, or
  // the first code behind the bucket.
  uint64_t code = start - bucket;
  const uint64_t end = code + (bucket_end - start);
  if (end > count_) return true;
  for (uint64_t beyond = end; code < beyond;) {
    const uint64_t middle = code + (beyond - code) / 2;
    if (Low(middle) < (first & low_mask)) {
      code = middle + 1;
    } else {
      beyond = middle;
    }
  }
  if (code < end) return (bucket << shape_.low_bits | Low(code)) <= last;
  const uint64_t last_bucket = last >> shape_.low_bits;
  if (last_bucket == bucket || code == count_) return false;
  // The last bucket begins at this place if no code lies between the two
  // buckets; a code between them is in the range.
  const uint64_t place = code + last_bucket;
  if (StartOfBucket(last_bucket) != place) return true;
  if (place / 64 >= upper_words_) return true;
  if ((UpperWord(place / 64) >> (place % 64) & 1) == 0) return false;
  return Low(code) <= (last & low_mask);
}

// --- Writing ----------------------------------------------------------------

CodesShape LargestShape(uint64_t count, uint64_t bytes) {
  if (count == 0 || count > kMaxUpperBits / 2) return {};
  CodesShape shape;
  // Each low bit takes a bit per code and doubles the universe, so most of them
  // go first, as long as there is room for as many buckets as codes.
  for (shape.low_bits = kMaxLowBits;; --shape.low_bits) {
    shape.buckets = count;
    if (CodesSize(count, shape) <= bytes) break;
    if (shape.low_bits == 0) return {};
  }
  // Twice as many buckets would take a bit more per code, as another low bit
  // would, for which there is no room.
  const uint64_t most = std::min(2 * count - 1, kMaxUpperBits - count);
  uint64_t fits = count;
  for (uint64_t too_many = most + 1; fits + 1 < too_many;) {
    shape.buckets = fits + (too_many - fits) / 2;
    (CodesSize(count, shape) <= bytes ? fits : too_many) = shape.buckets;
  }
  shape.buckets = fits;
  return shape;
}

CodesShape ShapeForUniverse(uint64_t count, uint64_t universe) {
  CodesShape shape;
  while (shape.low_bits < kMaxLowBits &&
         universe >> (shape.low_bits + 1) >= count) {
    ++shape.low_bits;
  }
  shape.buckets = ((universe - 1) >> shape.low_bits) + 1;
  return shape;
}

void AppendCodes(const std::vector<uint64_t>& codes, const CodesShape& shape,
                 std::string* dst) {
  const size_t start = dst->size();
  const uint64_t count = codes.size();
  dst->resize(start + CodesSize(count, shape));
  char* at = &(*dst)[start];
  *at = static_cast<char>(shape.low_bits);
  StoreFixed32(at + 1, static_cast<uint32_t>(count));
  StoreFixed32(at + 5, static_cast<uint32_t>(shape.buckets));
  char* const starts = at + kHeaderSize;
  char* const upper = starts + 4 * Starts(shape.buckets);
  char* const low = upper + 8 * Words(count + shape.buckets);
  const uint64_t low_mask = (uint64_t{1} << shape.low_bits) - 1;
  uint64_t stored_starts = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t bucket = codes[i] >> shape.low_bits;
    for (; stored_starts * kBucketsPerStart <= bucket; ++stored_starts) {
      StoreFixed32(starts + 4 * stored_starts,
                   static_cast<uint32_t>(i + stored_starts * kBucketsPerStart));
    }
    const uint64_t place = i + bucket;
    upper[place / 8] =
        static_cast<char>(upper[place / 8] | 1 << static_cast<int>(place % 8));
    const uint64_t bit = i * shape.low_bits;
    StoreFixed64(low + bit / 8, LoadFixed64(low + bit / 8) |
                                    (codes[i] & low_mask) << (bit % 8));
  }
  for (; stored_starts < Starts(shape.buckets); ++stored_starts) {
    StoreFixed32(
        starts + 4 * stored_starts,
        static_cast<uint32_t>(count + stored_starts * kBucketsPerStart));
  }
}

}  // namespace deltabloom::internal::range
