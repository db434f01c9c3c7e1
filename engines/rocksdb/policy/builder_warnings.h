// Warnings about filters that were not built as they were meant to be.
#pragma once

#include <atomic>
#include <cstdint>

#include "engines/rocksdb/policy/filter_size.h"
#include "rocksdb/env.h"
#include "util/layouts/layout.h"

namespace deltabloom::internal {

// Writes each kind of warning into the LOG once. Builders share it with their
// policy and own it together, as RocksDB destroys them in any order.
// Thread-safe.
class BuilderWarnings {
 public:
  // Warns if a filter of `keys` keys, for which `layout` was set, has too many
  // of them for this layout, or gets other bits than were set to fit
  // max_filter_bytes. `log` may be null.
  void WarnOf(const FilterBits& bits, uint64_t keys, const LayoutRow& layout,
              uint64_t max_filter_bytes, rocksdb::Logger* log);

 private:
  // True once the LOG has the warning.
  std::atomic<bool> many_keys_{false};
  std::atomic<bool> lowered_bits_{false};
  std::atomic<bool> no_filter_{false};
};

}  // namespace deltabloom::internal
