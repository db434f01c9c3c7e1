// Detects filters that change in memory while they are built, and before they
// are written: RocksDB's detect_filter_construct_corruption.
#pragma once

#include <cstdint>

#include "rocksdb/slice.h"
#include "rocksdb/status.h"
#include "table/framing.h"
#include "util/hash_list.h"

namespace deltabloom::internal {

// (Add* ChangeOfHashes? Keep ChangeOfFilter?)*. Nothing throws.
class CorruptionCheck {
 public:
  explicit CorruptionCheck(unsigned hash_size) : kept_(hash_size) {}

  void Add(uint64_t hash) { checksum_ ^= hash; }

  // Each of these returns OK or a Corruption: without a text if memory has run
  // out.

  // Compares the hashes of a filter with those that were added.
  rocksdb::Status ChangeOfHashes(const HashList& hashes) const;
  // Looks up the hashes that were kept in their filter.
  rocksdb::Status ChangeOfFilter(const rocksdb::Slice& filter);

  // A filter of this kind is finished. Takes its hashes if `hashes` is not
  // null.
  void Keep(FilterKind kind, HashList* hashes);

  uint64_t MemorySize() const { return kept_.MemorySize(); }

 private:
  uint64_t checksum_ = 0;  // of the hashes that were added since the last Keep
  FilterKind kind_ = FilterKind::kEmpty;
  HashList kept_;
};

}  // namespace deltabloom::internal
