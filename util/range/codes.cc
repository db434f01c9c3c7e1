#include "util/range/codes.h"

#include <algorithm>

#include "util/coding.h"

namespace deltabloom::internal::range {
namespace {

constexpr size_t kHeaderSize = 9;
constexpr uint64_t kBucketsPerSample = 256;
constexpr unsigned kMaxLowBits = 31;
// Of the upper bits: numbers of 32 bits tell their places.
constexpr uint64_t kMaxUpperBits = 0xffffffff;

uint64_t Samples(uint64_t buckets) {
  return (buckets + kBucketsPerSample - 1) / kBucketsPerSample;
}
uint64_t Words(uint64_t bits) { return (bits + 63) / 64; }
// One word more, so that any low bits can be had by one load.
uint64_t LowWords(uint64_t count, unsigned low_bits) {
  return Words(count * low_bits) + 1;
}

// In each byte the number of its ones.
uint64_t CountOnesPerByte(uint64_t word) {
  word -= word >> 1 & 0x5555555555555555;
  word = (word & 0x3333333333333333) + (word >> 2 & 0x3333333333333333);
  return (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0f;
}

unsigned CountOnes(uint64_t word) {
  return static_cast<unsigned>(CountOnesPerByte(word) * 0x0101010101010101 >>
                               56);
}

// REQUIRES: word != 0.
unsigned TrailingZeros(uint64_t word) {
  return static_cast<unsigned>(__builtin_ctzll(word));
}

// The place of the i-th one, counted from 0 (Vigna: "Broadword Implementation
// of Rank/Select Queries", 2008).
// REQUIRES: i < CountOnes(word).
unsigned SelectOne(uint64_t word, unsigned i) {
  // In each byte the ones up to its end; flags where they are i or fewer.
  const uint64_t sums = CountOnesPerByte(word) * 0x0101010101010101;
  const uint64_t flags =
      ((i * 0x0101010101010101 | 0x8080808080808080) - sums) >> 7 &
      0x0101010101010101;
  const auto byte = static_cast<unsigned>(flags * 0x0101010101010101 >> 56) * 8;
  i -= static_cast<unsigned>(sums << 8 >> byte & 0xff);
  word >>= byte;
  for (; i > 0; --i) word &= word - 1;
  return byte + TrailingZeros(word);
}

}  // namespace

uint64_t CodesSize(uint64_t count, const CodesShape& shape) {
  return kHeaderSize + 4 * Samples(shape.buckets) +
         8 * Words(count + shape.buckets) + 8 * LowWords(count, shape.low_bits);
}

CodesShape LargestShape(uint64_t count, uint64_t bytes) {
  if (count == 0 || count > kMaxUpperBits / 2) return {};
  CodesShape shape;
  // As many low bits as leave room for as many buckets as codes.
  for (shape.low_bits = kMaxLowBits;; --shape.low_bits) {
    shape.buckets = count;
    if (CodesSize(count, shape) <= bytes) break;
    if (shape.low_bits == 0) return {};
  }
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
  char* const samples = at + kHeaderSize;
  char* const upper = samples + 4 * Samples(shape.buckets);
  char* const low = upper + 8 * Words(count + shape.buckets);
  const uint64_t low_mask = (uint64_t{1} << shape.low_bits) - 1;
  uint64_t sampled = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t bucket = codes[i] >> shape.low_bits;
    for (; sampled * kBucketsPerSample <= bucket; ++sampled) {
      StoreFixed32(samples + 4 * sampled,
                   static_cast<uint32_t>(i + sampled * kBucketsPerSample));
    }
    const uint64_t place = i + bucket;
    upper[place / 8] =
        static_cast<char>(upper[place / 8] | 1 << static_cast<int>(place % 8));
    const uint64_t bit = i * shape.low_bits;
    StoreFixed64(low + bit / 8, LoadFixed64(low + bit / 8) |
                                    (codes[i] & low_mask) << (bit % 8));
  }
  for (; sampled < Samples(shape.buckets); ++sampled) {
    StoreFixed32(samples + 4 * sampled,
                 static_cast<uint32_t>(count + sampled * kBucketsPerSample));
  }
}

bool Codes::Parse(std::string_view bytes) {
  if (bytes.size() < kHeaderSize) return false;
  const auto* at = reinterpret_cast<const unsigned char*>(bytes.data());
  shape_.low_bits = at[0];
  count_ = LoadFixed32(at + 1);
  shape_.buckets = LoadFixed32(at + 5);
  upper_bits_ = count_ + shape_.buckets;
  if (shape_.low_bits > kMaxLowBits || count_ == 0 || shape_.buckets == 0 ||
      upper_bits_ > kMaxUpperBits ||
      CodesSize(count_, shape_) != bytes.size()) {
    return false;
  }
  upper_words_ = Words(upper_bits_);
  samples_ = at + kHeaderSize;
  upper_ = samples_ + 4 * Samples(shape_.buckets);
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

// Where the ones of a bucket begin: behind as many zeros.
uint64_t Codes::StartOfBucket(uint64_t bucket) const {
  const uint64_t sample =
      LoadFixed32(samples_ + 4 * (bucket / kBucketsPerSample));
  uint64_t zeros = bucket % kBucketsPerSample;
  if (zeros == 0) return sample <= upper_bits_ ? sample : kNowhere;
  uint64_t word = sample / 64;
  if (word >= upper_words_) return kNowhere;
  uint64_t bits = ~UpperWord(word) & (~uint64_t{0} << (sample % 64));
  for (;;) {
    const unsigned here = CountOnes(bits);
    if (zeros <= here) break;
    zeros -= here;
    if (++word >= upper_words_) return kNowhere;
    bits = ~UpperWord(word);
  }
  return word * 64 + SelectOne(bits, static_cast<unsigned>(zeros) - 1) + 1;
}

// The place of the zero that ends the ones from `start` on.
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
  last = std::min(last, shape_.Universe() - 1);
  if (first > last) return false;
  const uint64_t low_mask = (uint64_t{1} << shape_.low_bits) - 1;
  const uint64_t bucket = first >> shape_.low_bits;
  const uint64_t start = StartOfBucket(bucket);
  if (start == kNowhere || start < bucket) return true;
  const uint64_t bucket_end = EndOfBucket(start);
  if (bucket_end == kNowhere) return true;
  // The smallest code from `first` on.
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
  // Where the last bucket begins if there are no codes before it.
  const uint64_t place = code + last_bucket;
  if (StartOfBucket(last_bucket) != place) return true;
  if (place / 64 >= upper_words_) return true;
  if ((UpperWord(place / 64) >> (place % 64) & 1) == 0) return false;
  return Low(code) <= (last & low_mask);
}

}  // namespace deltabloom::internal::range
