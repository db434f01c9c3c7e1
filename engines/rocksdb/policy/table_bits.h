// The rule for the bits of a table's filter.
//
// A lookup of an absent key queries one filter per sorted run. With equal bits
// each of them has as many false positives, though all runs but the last hold
// few keys. So tables that RocksDB calls bottommost, mostly those of the last
// level, get bits_per_key, and all others upper_bits_per_key: docs/design.md,
// "Bits of a table".
//
// It needs nothing but what RocksDB says of the table, so it holds in bindings,
// OPTIONS files, compaction services and after restarts alike.
#pragma once

#include <cstdint>

#include "engines/rocksdb/base/options.h"
#include "rocksdb/filter_policy.h"

namespace deltabloom::internal {

// Returns the bits per key, in thousandths, of the filter of a table; less than
// kMinMillibitsPerKey: it has none.
uint32_t MillibitsOfTable(const PolicyOptions& options,
                          const rocksdb::FilterBuildingContext& context);

}  // namespace deltabloom::internal
