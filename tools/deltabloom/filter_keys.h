// The keys and prefixes that RocksDB puts into the filters of a table, read
// through RocksDB. Only in builds with RocksDB.
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_FILTER_KEYS_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_FILTER_KEYS_H_

#include <rocksdb/comparator.h>
#include <rocksdb/slice_transform.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "table/sst/sst.h"

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

class FilterKeysVisitor {
 public:
  virtual ~FilterKeysVisitor() = default;
  // What follows is in this partition; a full filter is partition 0. Returns
  // false to stop.
  virtual bool Begin(size_t partition, const internal::BlockHandle& handle) = 0;
  // A key, or a prefix, or both: the other is null. They repeat themselves.
  virtual void Add(const std::string_view* key,
                   const std::string_view* prefix) = 0;
  virtual void End() = 0;
  // Called for each entry, before its keys. Returns false to stop. `all` is the
  // number of entries by the table's properties, 1 or more.
  virtual bool CountEntry(uint64_t /*all*/) { return true; }
};

// Passes calls on to another visitor, and keeps them as long as the keys take
// at most `limit` bytes: a second visitor then needs no second reading.
class FilterKeysRecord : public FilterKeysVisitor {
 public:
  FilterKeysRecord(FilterKeysVisitor* to, size_t limit)
      : to_(to), limit_(limit) {}

  bool Begin(size_t partition, const internal::BlockHandle& handle) override;
  void Add(const std::string_view* key,
           const std::string_view* prefix) override;
  void End() override { to_->End(); }
  bool CountEntry(uint64_t all) override { return to_->CountEntry(all); }

  // Whether all keys were kept.
  bool IsComplete() const { return bytes_.size() <= limit_; }
  // Calls (Begin Add* End)*, with the block that `handle` returns for a
  // partition. Returns false if the visitor stopped.
  bool Replay(
      const std::function<internal::BlockHandle(size_t partition)>& handle,
      FilterKeysVisitor* to) const;

 private:
  struct Part {
    size_t partition;
    size_t start;  // in bytes_
  };

  FilterKeysVisitor* const to_;
  const size_t limit_;
  std::vector<Part> parts_;
  std::string bytes_;  // of each entry two sizes, key and prefix
};

// Calls (Begin Add* End)* and returns why not all entries could be read, or
// nothing. Partitions to which no key leads are left out. Of a stop it says
// nothing. The visitor may throw.
// REQUIRES: content.OrderProblem(filter) is empty.
std::string VisitFilterKeys(const internal::SstSource& source,
                            const internal::SstFile& file,
                            const internal::SstFilter& filter,
                            const FilterContent& content,
                            FilterKeysVisitor* visitor);

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_FILTER_KEYS_H_
