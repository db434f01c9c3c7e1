// One lookup in a compact filter, ready to be compared with the columns.
#ifndef DELTABLOOM_UTIL_COMPACT_TERMS_H_
#define DELTABLOOM_UTIL_COMPACT_TERMS_H_

#include <algorithm>
#include <cstdint>

#include "util/compact_query.h"

namespace deltabloom::internal {

// Column j holds if the parity of (word j of first() & low) ^ (word j of
// second() & high) is bit j of fingerprint.
struct CompactTerms {
  const unsigned char* first;  // words of the block in which the rows begin
  uint64_t low;
  uint64_t high;
  uint32_t fingerprint;
  // 1 if the first block lacks the last column. A word can be read there all
  // the same: the next block's, which exists, as the last block is wide.
  uint32_t narrow;

  // Words of the block behind it.
  const unsigned char* Second(unsigned columns) const {
    return first + (columns - narrow) * 8;
  }

  // Every line of both blocks.
  void Fetch(unsigned columns) const {
    const unsigned char* last = Second(columns) + columns * 8 - 1;
    for (unsigned at = 0; at < 2 * columns * 8 - 8; at += 64) {
      __builtin_prefetch(first + at);
    }
    __builtin_prefetch(last);
  }
};

inline CompactTerms TermsOf(const ParsedFilter& parsed, unsigned columns,
                            const CompactProbe& probe) {
  const uint64_t narrow = parsed.geometry[kCompactNarrow];
  const uint64_t block = probe.row / kBlockRows;
  const unsigned shift = probe.row % kBlockRows;
  const uint64_t first = block * columns - std::min(block, narrow);
  return {parsed.payload + first * 8, probe.equation.coefficients << shift,
          probe.equation.coefficients >> 1 >> (63 - shift),
          probe.equation.fingerprint, block < narrow ? 1u : 0u};
}

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_UTIL_COMPACT_TERMS_H_
