// What the kernels of all layouts have in common: functions that exist once
// per set of instructions, and the choice among them.
#ifndef DELTABLOOM_UTIL_KERNELS_H_
#define DELTABLOOM_UTIL_KERNELS_H_

#include <cstddef>
#include <string_view>

#include "deltabloom/filter.h"
#include "util/cpu.h"

namespace deltabloom::internal {

// The two lookups of a filter; `n` may be any number.
struct Lookup {
  bool (*may_match)(const ParsedFilter&, std::string_view key);
  void (*may_match_many)(const ParsedFilter&, KeyBatch keys, size_t n,
                         bool* may_match);
};

inline void SetLookup(const Lookup& lookup, ParsedFilter* parsed) {
  parsed->may_match = lookup.may_match;
  parsed->may_match_many = lookup.may_match_many;
}

// One line of a layout's table of kernels.
template <typename Kernels>
struct KernelsFor {
  Cpu needed;
  const Kernels& (*kernels)();
};

// The first whose instructions `cpu` has. The last of a table needs none.
template <typename Kernels, size_t kSize>
const Kernels& FirstThatRuns(const KernelsFor<Kernels> (&table)[kSize],
                             Cpu cpu) {
  size_t i = 0;
  while (i + 1 < kSize && !cpu.Has(table[i].needed)) ++i;
  return table[i].kernels();
}

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_UTIL_KERNELS_H_
