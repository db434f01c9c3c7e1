// Counting and finding the ones of a 64-bit word.
#pragma once

#include <cstdint>

namespace deltabloom::internal::range {

// Returns a word each byte of which holds the number of ones in that byte.
inline uint64_t CountOnesPerByte(uint64_t word) {
  word -= word >> 1 & 0x5555555555555555;
  word = (word & 0x3333333333333333) + (word >> 2 & 0x3333333333333333);
  return (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0f;
}

inline unsigned CountOnes(uint64_t word) {
  return static_cast<unsigned>(CountOnesPerByte(word) * 0x0101010101010101 >>
                               56);
}

// REQUIRES: word != 0.
inline unsigned TrailingZeros(uint64_t word) {
  return static_cast<unsigned>(__builtin_ctzll(word));
}

// Returns the place of the i-th one, counted from 0 (Vigna: "Broadword
// Implementation of Rank/Select Queries", 2008).
// REQUIRES: i < CountOnes(word).
inline unsigned SelectOne(uint64_t word, unsigned i) {
  // In each byte of `sums` are the ones up to its end. A flag is set for each
  // byte at whose end there are i ones or fewer, so the flags count the bytes
  // before the one that is looked for.
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

}  // namespace deltabloom::internal::range
