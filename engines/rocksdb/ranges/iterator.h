// The iterator of one scan.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "deltabloom/rocksdb_ranges.h"
#include "engines/rocksdb/ranges/state.h"
#include "rocksdb/comparator.h"
#include "rocksdb/iterator.h"
#include "rocksdb/options.h"

namespace deltabloom::internal {

// The range and the order of a scan. Views need not live longer than the call.
struct ScanRequest {
  std::string_view lower;
  std::optional<std::string_view> upper;
  const rocksdb::Comparator* comparator;
};

// Does what RocksDBRanges::NewIterator does. *refused is set if RocksDB made
// the iterator only without a table filter. Throws std::bad_alloc.
std::unique_ptr<rocksdb::Iterator> NewScanIterator(
    std::shared_ptr<RangesState> state, const RocksDBRanges::MakeIterator& make,
    const rocksdb::ReadOptions& options, const ScanRequest& request,
    bool* refused);

}  // namespace deltabloom::internal
