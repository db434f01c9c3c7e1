// Which partition of a filter RocksDB asks for a key.
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_ROCKSDB_PARTITIONS_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_ROCKSDB_PARTITIONS_H_

#include <rocksdb/comparator.h>

#include <string>
#include <string_view>
#include <vector>

#include "table/sst/sst.h"

namespace deltabloom::tools {

class RocksDBPartitions {
 public:
  // A full filter is one partition. `timestamp_size`: bytes at the end of the
  // user's keys, in this file. `order` may be null where there is but one
  // partition. Returns what is wrong with the index.
  std::string Open(const internal::SstSource& source,
                   const internal::SstFile& file,
                   const internal::SstFilter& filter, size_t timestamp_size,
                   const rocksdb::Comparator* order);

  size_t size() const { return handles_.size(); }
  const internal::BlockHandle& handle(size_t i) const { return handles_[i]; }

  // Whether a lookup of the key, or of a prefix as if it were one, goes to the
  // partition or to one in front of it. Without timestamp.
  bool IsWithin(std::string_view key, size_t i) const;

 private:
  const rocksdb::Comparator* order_ = nullptr;
  std::vector<internal::BlockHandle> handles_;
  std::vector<std::string> last_keys_;
};

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_ROCKSDB_PARTITIONS_H_
