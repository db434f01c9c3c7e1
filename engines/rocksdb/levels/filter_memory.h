// The total of filter_memory: what the filters of a database take of it, and
// the average bits per key that it allows.
#pragma once

#include <cstdint>
#include <string>

#include "engines/rocksdb/base/options.h"
#include "engines/rocksdb/levels/trees.h"

namespace deltabloom::internal {

// The memory of a database's filters. Tables of a compaction that runs count as
// far as they have more bits than those that they replace.
struct Memory {
  uint64_t asked = 0;    // the smallest filter_memory; 0: none
  bool differs = false;  // families have different ones
  double keys = 0;       // of families with one
  double bits = 0;       // of their filters
  double other_bits = 0;

  // Returns the bits that the families with filter_memory share.
  double Shared() const { return 8 * static_cast<double>(asked) - other_bits; }
};

// The bytes of all filters on disk whose sizes are known.
uint64_t FilterBytesOnDisk(const DatabaseTrees& trees);

// Filters of unknown size have `unknown` bits per key.
Memory MemoryOf(const DatabaseTrees& trees, double unknown);

// The bits per key of filters from before the start, whose sizes are unknown
// until a compaction reads them: as if the total had been kept.
double BitsFromBefore(const DatabaseTrees& trees, const PolicyOptions& options);

// The average bits per key over the keys that share the total and keys_to_come.
// Sets *problem to one line if the total cannot be kept.
double SharedBits(const Memory& memory, const PolicyOptions& options,
                  double keys_to_come, std::string* problem);

}  // namespace deltabloom::internal
