// Computes what the filters of a database take of the total of filter_memory,
// and the average bits per key that it allows.
#pragma once

#include <cstdint>
#include <string>

#include "engines/rocksdb/base/options.h"
#include "engines/rocksdb/levels/trees.h"

namespace deltabloom::internal {

// The memory of a database's filters. What a compaction that runs has written
// counts only as far as it exceeds the filters that it replaces.
struct Memory {
  uint64_t asked = 0;     // the smallest filter_memory; 0 if none has any
  bool differs = false;   // column families have different filter_memory
  double keys = 0;        // in column families with filter_memory
  double bits = 0;        // in filters of these column families
  double other_bits = 0;  // in filters of the other column families

  // Returns the bits that the families with filter_memory share.
  double Shared() const { return 8 * static_cast<double>(asked) - other_bits; }
};

// Returns the bytes of all filters on disk whose sizes are known.
uint64_t FilterBytesOnDisk(const DatabaseTrees& trees);

// Returns the memory, in which filters of unknown size have `unknown` bits per
// key.
Memory MemoryOf(const DatabaseTrees& trees, double unknown);

// Returns the bits per key with which filters from before the start count: the
// average that the total allows. Their sizes are unknown until a compaction
// reads them.
double BitsFromBefore(const DatabaseTrees& trees, const PolicyOptions& options);

// Returns the average bits per key that the total allows for the keys that
// share it and keys_to_come. Sets *problem to one line if the total cannot be
// kept.
double SharedBits(const Memory& memory, const PolicyOptions& options,
                  double keys_to_come, std::string* problem);

}  // namespace deltabloom::internal
