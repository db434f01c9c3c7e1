// The iterator of one scan.
#pragma once

#include <memory>

#include "deltabloom/rocksdb_ranges.h"
#include "engines/rocksdb/ranges/scan_range.h"
#include "engines/rocksdb/ranges/state.h"
#include "rocksdb/iterator.h"
#include "rocksdb/options.h"

namespace deltabloom::internal {

// Does what RocksDBRanges::NewIterator does. *refused is set if RocksDB made
// the iterator only without a table filter. Throws std::bad_alloc.
std::unique_ptr<rocksdb::Iterator> NewScanIterator(
    std::shared_ptr<RangesState> state, const RocksDBRanges::MakeIterator& make,
    const rocksdb::ReadOptions& options, const ScanRequest& request,
    bool* refused);

}  // namespace deltabloom::internal
