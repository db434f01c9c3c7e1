// The keys and prefixes that RocksDB puts into the filters of a table. Only in
// builds with RocksDB, which knows comparators and prefix extractors.
#pragma once

#include <rocksdb/comparator.h>
#include <rocksdb/slice_transform.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tools/sst/sst.h"

namespace deltabloom::tools {

inline rocksdb::Slice ToSlice(std::string_view key) {
  return {key.data(), key.size()};
}

// The properties of a table that concern the keys in its filter.
struct FilterContent {
  std::string comparator;
  const rocksdb::Comparator* order = nullptr;  // null if it is not known here
  size_t timestamp_size = 0;                   // in this file
  bool whole_keys = true;
  std::shared_ptr<const rocksdb::SliceTransform> prefixes;  // null for none

  // Why the partitions of keys are not known; nothing if they are.
  std::string OrderProblem(const internal::SstFilter& filter) const;
};

// *no_prefixes receives why the prefixes are not known, or nothing.
FilterContent FindContent(const internal::SstFile& file,
                          std::string* no_prefixes);

// Returns the name of a property of RocksDB that the releases with which these
// rules were compared, up to 11.12, do not write; empty: there is none. A later
// release may put other keys or prefixes into the filters of such a table.
std::string UnknownProperty(const internal::SstFile& file);

class FilterKeysVisitor {
 public:
  virtual ~FilterKeysVisitor() = default;
  // Called before each data block is read, in order. Returns false to stop.
  virtual bool GoOn(const internal::BlockHandle& data_block) = 0;
  // The keys that follow are in this partition; a full filter is partition 0.
  // Returns false to stop.
  virtual bool Begin(size_t partition, const internal::BlockHandle& handle) = 0;
  // A key, or a prefix, or both: the other is null. They repeat themselves.
  virtual void Add(const std::string_view* key,
                   const std::string_view* prefix) = 0;
  // The prefix of the last key before the partition, or of the first one after
  // it: iterators that seek backwards or forwards from within the partition
  // look it up here. RocksDB leaves the first out: before 6.20, and before 9.5
  // in tables without whole keys. `is_there` is false for the prefix after a
  // partition that ends with its last key: no iterator comes from between, and
  // RocksDB adds it from some 9.x on only.
  virtual void AddNeighbour(std::string_view prefix, bool is_there) = 0;
  virtual void End() = 0;
};

// Calls (Begin (Add | AddNeighbour)* End)*. Partitions to which no key leads
// are left out. *entries receives how many there were, including deletions.
// Throws std::runtime_error if not all can be read, after the last End.
// REQUIRES: content.OrderProblem(filter) is empty.
void VisitFilterKeys(const internal::SstSource& source,
                     const internal::SstFile& file,
                     const internal::SstFilter& filter,
                     const FilterContent& content, uint64_t* entries,
                     FilterKeysVisitor* visitor);

}  // namespace deltabloom::tools
