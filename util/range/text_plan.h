// How the cells of texts are cut into blocks and coded, and what that takes.
#ifndef DELTABLOOM_UTIL_RANGE_TEXT_PLAN_H_
#define DELTABLOOM_UTIL_RANGE_TEXT_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "util/range/prune.h"
#include "util/range/texts.h"

namespace deltabloom::internal::range {

// A block of cells, by their number.
struct CellBlock {
  uint32_t begin = 0;
  uint32_t end = 0;
  uint32_t prefix = 0;  // bytes of its keys, without the common prefix
  uint32_t first = 0;   // and of the key that it begins with
  uint32_t bits = 0;    // of its stream without suffixes, at most

  uint32_t cells() const { return end - begin; }
};

struct TextPlan {
  std::vector<CellStart> cells;
  std::vector<CellBlock> blocks;
  CellCoding coding;
  uint64_t size = 0;  // of offsets and records in bytes, at most
};

// Bits of the first cell of a block that its beginning says.
inline unsigned KnownAtStart(const CellBlock& block, unsigned width) {
  const unsigned bits = block.first * width;
  return block.first > block.prefix ? bits - (width - 1) : bits;
}

// Bytes that the size of a text, or of a block in cells, has in a record.
inline unsigned TextSizeBytes(size_t size) {
  return size < kLongTextSize ? 1 : 3;
}

// A plan for these cells in about so many bytes, which it may exceed. `width`:
// that of the alphabet.
TextPlan PlanTexts(std::vector<CellStart> cells, unsigned width,
                   unsigned suffix_bits, uint64_t bytes);

// Gives cells that hold a key each as many bits of suffix as fit.
void AddSuffixes(unsigned width, uint64_t bytes, TextPlan* plan);

// Of so many keys that a plan is for, those that would match, in parts of all,
// if they had not been there: about the rate of empty ranges near keys.
double RateOfPlan(const TextPlan& plan, size_t keys);

}  // namespace deltabloom::internal::range

#endif  // DELTABLOOM_UTIL_RANGE_TEXT_PLAN_H_
