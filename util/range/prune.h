// Which neighbours among texts are told apart.
#ifndef DELTABLOOM_UTIL_RANGE_PRUNE_H_
#define DELTABLOOM_UTIL_RANGE_PRUNE_H_

#include <cstdint>
#include <vector>

namespace deltabloom::internal::range {

// A key that begins another cell than the key before.
struct CellStart {
  uint64_t key = 0;
  uint32_t branch = 0;  // bits that the two have in common; 0 for the first
};

// What cells would cost if all keys had one of their own, without suffixes, in
// bits. branches[i]: bits that key i has in common with the key before.
uint64_t CostOfAllCells(const std::vector<uint32_t>& branches);

// Starts of cells that cost about so many bits, suffixes included: all keys if
// that is enough. Else groups of keys stay together that have most in common
// for their number; never less than suffix_bits beyond what they share with the
// keys around them, so that a cell with its suffix holds all of them.
std::vector<CellStart> ChooseCells(const std::vector<uint32_t>& branches,
                                   unsigned suffix_bits, uint64_t bits);

}  // namespace deltabloom::internal::range

#endif  // DELTABLOOM_UTIL_RANGE_PRUNE_H_
