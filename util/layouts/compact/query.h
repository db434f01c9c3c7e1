// One lookup in a compact filter, up to the comparison with the columns, which
// is the kernels'.
#ifndef DELTABLOOM_UTIL_LAYOUTS_COMPACT_QUERY_H_
#define DELTABLOOM_UTIL_LAYOUTS_COMPACT_QUERY_H_

#include <algorithm>
#include <cstdint>

#include "deltabloom/filter.h"
#include "util/layouts/compact/equation.h"

namespace deltabloom::internal::compact {

// Where the equation of a key begins, and the equation.
struct Located {
  uint64_t row;
  Equation equation;
};

// For any key.
Located Locate(const ParsedFilter& parsed, uint64_t hash);

// The same where it takes little: *located is right for nearly every key in
// nearly every filter. False for the others.
inline bool LocateQuickly(const ParsedFilter& parsed, uint64_t hash,
                          Located* located) {
  const Shape& shape = parsed.shape.As<Shape>();
  if (__builtin_expect(!shape.plain, 0)) return false;
  const uint64_t start = StartOf(hash, shape.starts(0));
  *located = {start, EquationOf(hash)};
  const bool bumped = IsBumped(parsed.payload + shape.thresholds_at, 0, start);
  return __builtin_expect(!bumped, 1);
}

// An equation laid over the words of the two blocks that its rows are in.
// Column j holds if the parity of (word j of first & low) ^ (word j of
// Second() & high) is bit j of fingerprint.
struct Query {
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

// `columns` are those of the shape.
inline Query MakeQuery(const ParsedFilter& parsed, unsigned columns,
                       const Located& located) {
  const uint64_t narrow = parsed.shape.As<Shape>().narrow;
  const uint64_t block = located.row / kBlockRows;
  const unsigned shift = located.row % kBlockRows;
  const uint64_t first = block * columns - std::min(block, narrow);
  return {parsed.payload + first * 8, located.equation.coefficients << shift,
          located.equation.coefficients >> 1 >> (63 - shift),
          located.equation.fingerprint, block < narrow ? 1u : 0u};
}

}  // namespace deltabloom::internal::compact

#endif  // DELTABLOOM_UTIL_LAYOUTS_COMPACT_QUERY_H_
