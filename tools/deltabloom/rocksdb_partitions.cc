#include "tools/deltabloom/rocksdb_partitions.h"

namespace deltabloom::tools {
namespace {

constexpr size_t kTagSize = 8;

rocksdb::Slice ToSlice(std::string_view key) {
  return {key.data(), key.size()};
}

}  // namespace

std::string RocksDBPartitions::Open(const internal::SstSource& source,
                                    const internal::SstFile& file,
                                    const internal::SstFilter& filter,
                                    size_t timestamp_size,
                                    const rocksdb::Comparator* order) {
  order_ = order;
  if (filter.scope == internal::FilterScope::kFull) {
    handles_.push_back(filter.handle);
    last_keys_.emplace_back();
    return {};
  }
  uint64_t user_keys = 0;
  file.properties.Number("rocksdb.index.key.is.user.key", &user_keys);
  const size_t behind = timestamp_size + (user_keys != 0 ? 0 : kTagSize);
  // Keys share prefixes in the index: a few bytes could stand for gigabytes.
  uint64_t budget = source.Size() + filter.handle.size;
  return internal::ForEachPartition(
      source, file, filter,
      [&](std::string_view last_key, const internal::BlockHandle& handle) {
        if (last_key.size() < behind || last_key.size() > budget) {
          return "expected a key of " + std::to_string(behind) + " to " +
                 std::to_string(budget) + " bytes, found " +
                 std::to_string(last_key.size());
        }
        budget -= last_key.size();
        last_key.remove_suffix(behind);
        handles_.push_back(handle);
        last_keys_.emplace_back(last_key);
        return std::string();
      });
}

bool RocksDBPartitions::IsWithin(std::string_view key, size_t i) const {
  // Behind all of them RocksDB asks the last one.
  if (i + 1 >= handles_.size()) return true;
  return order_->CompareWithoutTimestamp(ToSlice(key), /*a_has_ts=*/false,
                                         ToSlice(last_keys_[i]),
                                         /*b_has_ts=*/false) <= 0;
}

}  // namespace deltabloom::tools
