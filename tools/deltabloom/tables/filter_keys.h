// The keys and prefixes that RocksDB puts into the filters of a table. Only in
// builds with RocksDB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tools/deltabloom/tables/filter_content.h"
#include "tools/sst/sst.h"

namespace deltabloom::tools {

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
