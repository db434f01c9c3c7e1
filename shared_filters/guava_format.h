// What a filter of Guava's looks like: sizes by Guava's formulas, and the bytes
// of BloomFilter.writeTo (docs/shared_filters_format.md, chapter "Guava").
#ifndef DELTABLOOM_SHARED_FILTERS_GUAVA_FORMAT_H_
#define DELTABLOOM_SHARED_FILTERS_GUAVA_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "deltabloom/guava_filter.h"

namespace deltabloom::internal {

// Strategy, k, count of words.
inline constexpr size_t kGuavaHeaderSize = 6;

// Java counts the words of a filter in a signed 32-bit number.
inline constexpr uint64_t kMaxGuavaWords = INT32_MAX;
inline constexpr uint32_t kMaxGuavaHashFunctions = 255;

struct GuavaShape {
  GuavaStrategy strategy = GuavaStrategy::kMurmur128Mitz64;
  uint32_t hash_functions = 0;
  uint64_t words = 0;
};

inline bool operator==(const GuavaShape& a, const GuavaShape& b) {
  return a.strategy == b.strategy && a.hash_functions == b.hash_functions &&
         a.words == b.words;
}

// BloomFilter.optimalNumOfBits: -n ln p / ln^2 2, truncated. As Java's cast
// does, what is beyond INT64_MAX becomes INT64_MAX.
uint64_t GuavaBits(uint64_t insertions, double rate);

// BloomFilter.optimalNumOfHashFunctions, for those bits.
uint32_t GuavaHashFunctions(const GuavaFilterOptions& options, uint64_t bits);

// REQUIRES: options.Validate() is empty.
GuavaShape GuavaShapeOf(const GuavaFilterOptions& options);

// "MURMUR128_MITZ_64, 5 hash functions, 7296 bits"
std::string DescribeGuava(const GuavaShape& shape);

void AppendGuavaHeader(const GuavaShape& shape, std::string* dst);

// The header of `bytes`, and whether as many words follow as it says. Empty, or
// one line that says what is wrong.
std::string ParseGuavaHeader(std::string_view bytes, GuavaShape* shape);

// Word i of the bits, big-endian as Java writes it: of whole bytes that
// ParseGuavaHeader accepted, and behind a header.
uint64_t GuavaWord(std::string_view bytes, uint64_t i);
void StoreGuavaWord(char* first_word, uint64_t i, uint64_t word);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_SHARED_FILTERS_GUAVA_FORMAT_H_
