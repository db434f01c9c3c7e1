// The bytes of the filters of a tree, and the bits per key of a total. Needs no
// RocksDB.
#pragma once

#include <cstdint>
#include <vector>

#include "engines/rocksdb/base/options.h"

namespace deltabloom::internal {

struct TableKeys {
  uint64_t keys = 0;
  bool bottommost = false;  // or of another kind that gets bits_per_key
};

// Returns the bytes of the filters of these tables. Partitioned filters take a
// little more: each partition has its own framing.
uint64_t FilterBytesOf(const std::vector<TableKeys>& tables,
                       const PolicyOptions& options);

// Sets options->bits_per_key to the most, in thousandths, with which the
// filters of these tables have at most `bytes` together; upper_bits_per_key
// follows. Returns false without a change if even kMinBitsPerKey are too many.
bool FitTotal(const std::vector<TableKeys>& tables, uint64_t bytes,
              PolicyOptions* options);

}  // namespace deltabloom::internal
